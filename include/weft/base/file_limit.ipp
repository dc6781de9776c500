#include <sys/resource.h>

#include "weft/base/file_limit.hpp"

namespace weft::inline WEFT_ABI {

WEFT_DECL bool file_may_hold(std::int64_t bytes) {
  rlimit longest{};
  return ::getrlimit(RLIMIT_FSIZE, &longest) == 0 && static_cast<std::uint64_t>(bytes) <= longest.rlim_cur;
}

}  // namespace weft::inline WEFT_ABI
