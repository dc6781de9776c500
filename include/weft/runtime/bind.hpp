// A call's arguments against the program: everything that can be wrong with them, before any code runs.
#pragma once

#include <string_view>

#include "weft/expr/program.hpp"
#include "weft/lower/lower.hpp"
#include "weft/runtime/argument.hpp"

namespace weft::inline WEFT_ABI {

/// What shared_memory says when an output overlaps another argument without being the same elements. No compiled form
/// has it: such a call is bound, and refused, each time.
inline constexpr std::uint64_t shared_in_part = ~std::uint64_t(0);
/// Which outputs are the same elements as which other arguments, as a number; 0 when they share no memory. Inputs may
/// overlap. Cost a few comparisons per pair, 100 ns more where one lies among the other; part of every call that is no plain one (kernel_table.hpp).
std::uint64_t shared_memory(argument const* arguments, int count);

namespace detail {
/// The bytes that an argument's elements lie in, counted from its address, also backwards. Unsigned, since a shape that overflows is refused only after this.
struct byte_span {
  std::uint64_t first = 0, last = 0;  // the same: none
};
byte_span span_of(argument const& a);
/// Dimension `dim` of input `tensor` and `other_dim` of `other`: one axis walks along both, so they must be as long.
struct walked_pair {
  std::int32_t tensor, dim, other, other_dim;
};
/// All of them. In the branches of a select extents may differ: its condition decides what is read, and check_bounds
/// whether that is inside.
sequence<walked_pair> walked_together(program const& p);
/// Whether it has no elements.
bool is_empty(argument const& a);
/// Whether elements stand further from the first one than memory reaches.
bool reaches_too_far(argument const& a);
/// Whether two elements may be the same memory.
bool overlaps_itself(argument const& a);
}  // namespace detail

/// Fills the extents (and row-major strides) of outputs that the caller left out.
void shape_outputs(program const& p, argument* arguments, int count);

/// Checks the arguments (inputs in order, then outputs) and says what the kernel may assume of them.
///
/// Errors  argument_error for a weft::require that is not met, a wrong dtype, rank or extent, a negative or overflowing shape, a null pointer, an
///         output whose elements overlap each other, or memory shared in any other way than element by
///         element in place
call_layout bind(program const& p, std::string_view name, argument const* arguments, int count);

}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/runtime/bind.ipp"
#endif
