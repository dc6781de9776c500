#include "weft/runtime/cuda/reach.hpp"

namespace weft::inline WEFT_ABI {
namespace runtime {

WEFT_DECL bool has_gaps(argument const& a) {
  std::int64_t elements = 1;
  for (int d = 0; d < a.rank; ++d) elements *= a.extents[d];
  return elements > 0 && elements != gpu_reach(a).elements();
}
WEFT_DECL void put_elements(argument const& a, char const* copy) {
  std::int64_t const low = gpu_reach(a).low;
  std::size_t const size = static_cast<std::size_t>(size_bytes(a.type));
  int run = -1;  // the dimension whose elements are next to each other
  for (int d = 0; d < a.rank; ++d) {
    if (a.extents[d] == 0) return;
    if (run < 0 && a.strides[d] == 1) run = d;
  }
  std::size_t const bytes = size * static_cast<std::size_t>(run < 0 ? 1 : a.extents[run]);
  std::int64_t at[max_rank] = {}, place = 0;
  for (;;) {
    __builtin_memcpy(static_cast<char*>(a.data) + place * static_cast<std::int64_t>(size), copy + (place - low) * static_cast<std::int64_t>(size), bytes);
    int d = a.rank - 1;
    for (; d >= 0; --d) {
      if (d == run) continue;
      place += a.strides[d];
      if (++at[d] < a.extents[d]) break;
      place -= a.strides[d] * a.extents[d], at[d] = 0;
    }
    if (d < 0) return;
  }
}

}  // namespace runtime
}  // namespace weft::inline WEFT_ABI
