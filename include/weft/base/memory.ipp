#include <sys/mman.h>

#include <cstdlib>

#include "weft/base/memory.hpp"

namespace weft::inline WEFT_ABI {

WEFT_DECL void* detail::element_memory(std::int64_t bytes) {
  constexpr std::int64_t page = std::int64_t(2) << 20;
  std::int64_t const alignment = bytes >= page ? page : 64;
  void* p = nullptr;
  if (::posix_memalign(&p, static_cast<std::size_t>(alignment), static_cast<std::size_t>((bytes + 63) / 64 * 64)) != 0) return nullptr;
  // Whole pages alone: the rest of the last one is somebody else's.
  if (bytes >= page) ::madvise(p, static_cast<std::size_t>(bytes / page * page), MADV_HUGEPAGE);
  return p;
}

}  // namespace weft::inline WEFT_ABI
