#include <cstdio>

#include "weft/base/error.hpp"

#if !WEFT_HAS_EXCEPTIONS
namespace weft::inline WEFT_ABI {

WEFT_DECL void end_with(error const& e) {
  std::fprintf(stderr, "weft: %s\n", e.what());
  std::terminate();
}

}  // namespace weft::inline WEFT_ABI
#endif
