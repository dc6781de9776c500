#include "weft/lower/layout.hpp"

namespace weft::inline WEFT_ABI {

WEFT_DECL std::string dim_text(std::int64_t code) {
  std::string name;
  for (std::int64_t rest = -2 - code; rest > 0; rest >>= 7) name += static_cast<char>(rest & 127);
  return name;
}
WEFT_DECL sequence<open_size> open_sizes_of(call_layout const& layout) {
  sequence<open_size> sizes;
  std::int32_t number = 0;
  for (argument_layout const& a : layout.arguments) {
    for (std::size_t d = 0; d < a.extents.size(); ++d) {
      bool known = a.extents[d] >= -1;
      for (open_size const& s : sizes) known = known || (!s.is_stride && s.name == a.extents[d]);
      if (!known) sizes.push_back({number, static_cast<std::int32_t>(d), false, a.extents[d], layout.range_of(a.extents[d]).shift});
      if (!a.packed && a.strides[d] == open_stride) sizes.push_back({number, static_cast<std::int32_t>(d), true, 0});
    }
    ++number;
  }
  return sizes;
}

}  // namespace weft::inline WEFT_ABI
