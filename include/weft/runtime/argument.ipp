#include "weft/runtime/argument.hpp"

namespace weft::inline WEFT_ABI {

WEFT_DECL void detail::check_range_size(std::size_t size, std::int64_t const* extents, int rank) {
  std::int64_t count = 1;
  std::string shape;
  bool too_many = false;
  for (int d = 0; d < rank; ++d) {
    too_many = __builtin_mul_overflow(count, extents[d], &count) || too_many;
    shape += (d > 0 ? " x " : "") + std::to_string(extents[d]);
  }
  if (too_many || count > static_cast<std::int64_t>(size))
    WEFT_THROW(argument_error("view: " + shape + " elements are wanted of a range of " + std::to_string(size)));
}

}  // namespace weft::inline WEFT_ABI
