#include "weft/base/joined.hpp"
#include "weft/runtime/argument.hpp"

namespace weft::inline WEFT_ABI {

namespace detail {
[[gnu::cold]] inline std::string product_text(std::int64_t const* numbers, int rank, char const* between) {
  std::string text;
  for (int d = 0; d < rank; ++d) text += (d > 0 ? between : "") + std::to_string(numbers[d]);
  return text;
}
}  // namespace detail

WEFT_DECL void detail::check_range_size(std::size_t size, std::int64_t const* extents, int rank) {
  std::int64_t count = 1;
  bool too_many = false;
  for (int d = 0; d < rank; ++d) too_many = __builtin_mul_overflow(count, extents[d], &count) || too_many;
  if (too_many || count > static_cast<std::int64_t>(size))
    WEFT_THROW(argument_error(joined({"view: ", product_text(extents, rank, " x "),
                                      " elements are wanted of a range of ",
                                      std::to_string(size)})));
}
WEFT_DECL void detail::check_reach(std::int64_t size, std::int64_t const* extents, std::int64_t const* strides,
                                   int rank) {
  std::int64_t first = 0, last = 0;
  bool too_far = false;
  for (int d = 0; d < rank; ++d) {
    if (extents[d] <= 0) return;
    std::int64_t reach = 0, &end = strides[d] < 0 ? first : last;
    too_far = __builtin_mul_overflow(extents[d] - 1, strides[d], &reach) || too_far;
    too_far = __builtin_add_overflow(end, reach, &end) || too_far;
  }
  if (!too_far && first >= 0 && last < size) return;
  WEFT_THROW(argument_error(
      joined({"view: ", product_text(extents, rank, " x "), " elements with strides (", product_text(strides, rank,
              ", "),
              ") reach from element ",
              too_far ? "0 further than memory does" : joined({std::to_string(first), " to ", std::to_string(last)}),
              " of a range of ", std::to_string(size), "; a view of a pointer into it may begin elsewhere"})));
}

}  // namespace weft::inline WEFT_ABI
