// What the ops have in common: where the channels stand, which dimension is meant, a reduction along one dimension.
#pragma once

#include "weft/expr/any_rank.hpp"
#include "weft/expr/broadcast.hpp"
#include "weft/expr/math/functions.hpp"

namespace weft::inline WEFT_ABI {
namespace ops {

/// Of images and their kin, rank D + 2: (batch, channel, spatial...) or (batch, spatial..., channel).
enum class layout : std::uint8_t { channels_first, channels_last };

/// The dimension that an op works along; negative ones count from the last.
struct along {
  int axis = -1;
};

namespace detail {
// Not constexpr: its name is what the compiler prints.
[[noreturn]] inline void there_is_no_such_axis_in_a_tensor_of_this_rank() {
  WEFT_THROW(argument_error("weft::ops: there is no such axis in a tensor of this rank"));
}
constexpr std::size_t dimension(int axis, int rank) {
  int const d = axis < 0 ? axis + rank : axis;
  if (d < 0 || d >= rank) there_is_no_such_axis_in_a_tensor_of_this_rank();
  return static_cast<std::size_t>(d);
}
constexpr void check(bool holds, char const* sentence) {
  if (!holds) WEFT_THROW(argument_error(sentence));
}

template <class X>
inline constexpr int rank_of = -1;
template <class T, int Rank>
inline constexpr int rank_of<expr::tensor<T, Rank>> = Rank;
/// Whether these have a batch and channels beside the dimensions that the op goes over; else a compile error.
template <int Dims, class... X>
constexpr bool are_images() {
  constexpr bool fit = ((rank_of<std::remove_cvref_t<X>> == Dims + 2) && ...);
  static_assert(fit, "weft::ops: convolutions and poolings take a batch and channels, too: N x C x H x W over two dimensions "
                     "(of one image, weft::view(data, 1, C, H, W))");
  return fit;
}

/// `reduce` over dimension `axis`, which stays with extent 1, so that the result broadcasts against `x`.
template <fixed_string Name, class T, int Rank, class Reduce>
constexpr auto reduced(expr::tensor<T, Rank> const& x, int axis, Reduce const& reduce) {
  std::size_t const a = dimension(axis, Rank);
  shape<Rank> rows = shape_of(x);
  rows[a] = literal_extent(x, 1);
  return compute_over<Name>(rows, [=](indices<Rank> const& i) {
    return reduce(x.extent(static_cast<int>(a)), [=](auto k) {
      indices<Rank> from = i;
      from[a] = k;
      return element_at(x, from);
    });
  });
}

/// The float type in which numbers of type T are computed with: f64 for itself, else f32.
template <class T>
using real_t = std::conditional_t<std::is_same_v<T, double>, double, float>;
/// How many elements stand along an axis, as a number to divide by.
template <class T, int Rank>
constexpr auto count_along(expr::tensor<T, Rank> const& x, int axis) {
  return weft::cast<real_t<T>>(x.extent(static_cast<int>(dimension(axis, Rank))));
}
}  // namespace detail
}  // namespace ops
}  // namespace weft::inline WEFT_ABI
