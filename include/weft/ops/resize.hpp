// Images in another size.
#pragma once

#include "weft/ops/layout.hpp"

namespace weft::inline WEFT_ABI {
namespace ops {

/// The size that images get, and where their channels are.
struct resize_options {
  std::int64_t size[2] = {};  // height and width of the result
  ops::layout layout = ops::layout::channels_first;
};
namespace detail {
/// Of images N x C x H x W (or N x H x W x C): the result's shape, and of both spatial dimensions which they are.
template <class T>
struct resizing {
  expr::tensor<T, 4> x;
  std::size_t first;
  std::array<extent, 2> from, to;
  shape<4> result;

  constexpr resizing(expr::tensor<T, 4> const& of, resize_options const& o)
      : x(of), first(o.layout == layout::channels_first ? 2 : 1), result(shape_of(of)) {
    for (std::size_t d = 0; d < 2; ++d) {
      check(o.size[d] >= 1, "weft::ops: a resized image has 1 row and 1 column or more");
      from[d] = result[first + d];
      to[d] = result[first + d] = literal_extent(of, o.size[d]);
      require(from[d] >= 1);
    }
  }
};
}  // namespace detail

/// The element at i * from / to, rounded down.
///
/// Shape   N x C x H x W (or N x H x W x C) gives the same with `size`
/// Source  torch.nn.functional.interpolate with mode='nearest', in exact arithmetic
inline constexpr auto resize_nearest = []<class T>(expr::tensor<T, 4> const& x, resize_options const& o) {
  detail::resizing<T> const r(x, o);
  return compute_over<"resize_nearest">(r.result, [&](auto i) {
    for (std::size_t d = 0; d < 2; ++d) i[r.first + d] = i[r.first + d] * r.from[d] / r.to[d];
    return element_at(x, i);
  });
};
/// Between the four elements around the place that the centre of each pixel comes from; edges are repeated. Images that
/// shrink are not smoothed before.
///
/// Shape   as resize_nearest
/// Source  torch.nn.functional.interpolate with mode='bilinear', align_corners=False
inline constexpr auto resize_bilinear = []<class T>(expr::tensor<T, 4> const& x, resize_options const& o) {
  using real = detail::real_t<T>;
  detail::resizing<T> const r(x, o);
  return compute_over<"resize_bilinear">(r.result, [&](auto const& i) {
    auto low = i, high = i;
    value<real> part[2];
    for (std::size_t d = 0; d < 2; ++d) {
      // (i + 1/2) from / to - 1/2 as a fraction: exact, and so are the two places.
      axis_index const place = (2 * i[r.first + d] + 1) * r.from[d] - r.to[d];
      auto const below = place / (2 * r.to[d]);
      part[d] = weft::cast<real>(place % (2 * r.to[d])) / weft::cast<real>(2 * r.to[d]);
      low[r.first + d] = weft::clamp(below, 0, r.from[d] - 1);
      high[r.first + d] = weft::clamp(below + 1, 0, r.from[d] - 1);
    }
    auto const row = [&](axis_index y) {
      auto left = low, right = high;
      left[r.first] = right[r.first] = y;
      auto const a = weft::cast<real>(element_at(x, left));
      return a + part[1] * (element_at(x, right) - a);
    };
    auto const above = row(low[r.first]);
    return above + part[0] * (row(high[r.first]) - above);
  });
};

}  // namespace ops
}  // namespace weft::inline WEFT_ABI
