// Pooling in one to three dimensions.
#pragma once

#include "weft/ops/conv.hpp"

namespace weft::inline WEFT_ABI {
namespace ops {

/// `{.kernel = {2, 2}}`; without a stride, windows stand side by side.
template <int D>
struct pool_options {
  using numbers = std::array<std::int64_t, static_cast<std::size_t>(D)>;
  numbers kernel = detail::ones<D>();
  numbers stride{};
  numbers padding{};
  numbers dilation = detail::ones<D>();
  bool count_include_pad = true;  // of averages: whether padding counts
  ops::layout layout = ops::layout::channels_first;
};

namespace detail {
/// The windows of a pooling over `x`, and the shape of its result.
template <class T, int Rank>
struct pooling : window<T, Rank> {
  using window<T, Rank>::dims;
  shape<Rank> result;
  shape<Rank - 2> kernel{};

  constexpr pooling(expr::tensor<T, Rank> const& of, pool_options<Rank - 2> const& o)
      : window<T, Rank>(of, {side_by_side(o), o.padding, o.dilation, 1, o.layout}), result(shape_of(of)) {
    for (std::size_t d = 0; d < dims; ++d) {
      check(o.kernel[d] >= 1, "weft::ops: a pooling's kernel has 1 element or more in each dimension");
      kernel[d] = literal_extent(of, o.kernel[d]);
      result[this->first + d] = this->places(d, kernel[d]);
    }
  }
  static constexpr auto side_by_side(pool_options<Rank - 2> const& o) {
    auto stride = o.stride;
    for (std::size_t d = 0; d < dims; ++d) stride[d] = stride[d] != 0 ? stride[d] : o.kernel[d];
    return stride;
  }
  template <fixed_string Name, class Reduce>
  constexpr auto reduced(Reduce const& reduce) const {
    return compute_over<Name>(result, [&](indices<Rank> const& i) {
      return reduce_over(reduce, kernel, [&](auto const& k) {
        indices<Rank> const there = this->at(i, k, 0);
        return weft::where(this->holds(there), element_at(this->x, there));
      });
    });
  }
  /// How many elements of `x` are in the window at `i`.
  constexpr axis_index elements(indices<Rank> const& i) const {
    auto const along = [&](std::size_t d) {  // the first of the window and the one behind its last
      axis_index const begin = i[this->first + d] * this->stride[d] - this->padding[d];
      // Those in front of the input and behind it are counted by whole steps of the dilation.
      auto const step = this->dilation[d];
      extent const n = this->x.extent(static_cast<int>(this->first + d));
      axis_index const skipped = weft::max((step - 1 - begin) / step, 0);
      axis_index const reached = weft::min((n - begin + step - 1) / step, kernel[d]);
      return reached - skipped;
    };
    axis_index count = along(0);
    for (std::size_t d = 1; d < dims; ++d) count = count * along(d);
    return count;
  }
};
template <fixed_string Name, class T, int Rank>
constexpr auto max_pool(expr::tensor<T, Rank> const& x, pool_options<Rank - 2> const& o) {
  return pooling<T, Rank>(x, o).template reduced<Name>(maxima);
}
template <fixed_string Name, class T, int Rank>
constexpr auto avg_pool(expr::tensor<T, Rank> const& x, pool_options<Rank - 2> const& o) {
  pooling<T, Rank> const windows(x, o);
  auto const total = windows.template reduced<"total">(sums);
  std::int64_t whole = 1;
  for (std::int64_t n : o.kernel) whole *= n;
  return compute_over<Name>(windows.result, [&](indices<Rank> const& i) {
    auto const sum_here = weft::cast<real_t<T>>(element_at(total, i));
    return o.count_include_pad ? sum_here / whole : sum_here / weft::cast<real_t<T>>(windows.elements(i));
  });
}
}  // namespace detail

/// The largest of each window; padding takes no part.
///
/// Shape   N x C x spatial (or N x spatial x C) gives the same with spatial as in conv2d
/// Source  torch.nn.functional.max_pool2d
inline constexpr auto max_pool1d = [](auto const& x, pool_options<1> const& o) {
  if constexpr (detail::are_images<1, decltype(x)>()) return detail::max_pool<"max_pool1d">(x, o);
};
/// As max_pool1d, over two dimensions.
inline constexpr auto max_pool2d = [](auto const& x, pool_options<2> const& o) {
  if constexpr (detail::are_images<2, decltype(x)>()) return detail::max_pool<"max_pool2d">(x, o);
};
/// As max_pool1d, over three dimensions.
inline constexpr auto max_pool3d = [](auto const& x, pool_options<3> const& o) {
  if constexpr (detail::are_images<3, decltype(x)>()) return detail::max_pool<"max_pool3d">(x, o);
};
/// The mean of each window: a stage of sums, and one that divides.
///
/// Source  torch.nn.functional.avg_pool2d
inline constexpr auto avg_pool1d = [](auto const& x, pool_options<1> const& o) {
  if constexpr (detail::are_images<1, decltype(x)>()) return detail::avg_pool<"avg_pool1d">(x, o);
};
/// As avg_pool1d, over two dimensions.
inline constexpr auto avg_pool2d = [](auto const& x, pool_options<2> const& o) {
  if constexpr (detail::are_images<2, decltype(x)>()) return detail::avg_pool<"avg_pool2d">(x, o);
};
/// As avg_pool1d, over three dimensions.
inline constexpr auto avg_pool3d = [](auto const& x, pool_options<3> const& o) {
  if constexpr (detail::are_images<3, decltype(x)>()) return detail::avg_pool<"avg_pool3d">(x, o);
};

}  // namespace ops
}  // namespace weft::inline WEFT_ABI
