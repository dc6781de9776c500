// Filters of grey images H x W. Outside of the image its mirror image goes on, the last pixel once.
#pragma once

#include "weft/expr/boundary.hpp"
#include "weft/ops/layout.hpp"

namespace weft::inline WEFT_ABI {
namespace ops {

/// How far a blur looks to each side.
struct blur_options {
  std::int64_t radius = 1;
};
/// The mean of the square of (2 radius + 1)^2 pixels around each.
///
/// Shape   H x W gives H x W
/// Source  OpenCV, blur with BORDER_REFLECT_101
/// Stages  total, box_blur
inline constexpr auto box_blur = []<class T>(expr::tensor<T, 2> const& image, blur_options const& o = {}) {
  auto const bounded = reflect(image);
  std::int64_t const side = 2 * o.radius + 1;
  auto const total = compute<"total">(image.extent(0), image.extent(1), [&](auto y, auto x) {
    return sum(side, side, [&](auto dy, auto dx) { return bounded(y + dy - o.radius, x + dx - o.radius); });
  });
  return elementwise<"box_blur">([&](auto t) { return weft::cast<detail::real_t<T>>(t) / (side * side); }, total);
};
/// 1 4 6 4 1 over 16, along the rows and then along the columns: a Gaussian of variance 1.
///
/// Source  Burt, Adelson: The Laplacian Pyramid, 1983; OpenCV, pyrDown before it leaves out rows and columns
/// Stages  rows, gaussian_blur
inline constexpr auto gaussian_blur = []<class T>(expr::tensor<T, 2> const& image) {
  using real = detail::real_t<T>;
  auto const weighed = [](auto const& at) {
    return (at(-2) + at(2)) * real(0.0625) + (at(-1) + at(1)) * real(0.25) + at(0) * real(0.375);
  };
  auto const bounded = reflect(image);
  auto const rows = compute<"rows">(image.extent(0), image.extent(1), [&](auto y, auto x) {
    return weighed([&](int d) { return weft::cast<real>(bounded(y, x + d)); });
  });
  auto const columns = reflect(rows);
  return compute<"gaussian_blur">(image.extent(0), image.extent(1),
                                  [&](auto y, auto x) { return weighed([&](int d) { return columns(y + d, x); }); });
};

namespace detail {
/// Across: the difference of what is right and what is left, over three rows; else the same turned.
template <bool Across, class Image>
constexpr auto sobel_at(Image const& image, axis_index y, axis_index x) {
  auto const at = [&](int along, int aside) {
    return Across ? image(y + aside, x + along) : image(y + along, x + aside);
  };
  auto const side = [&](int along) { return at(along, -1) + 2 * at(along, 0) + at(along, 1); };
  return side(1) - side(-1);
}
}  // namespace detail

/// The slope of brightness from left to right; of bytes an i32. Source  OpenCV, Sobel with BORDER_REFLECT_101
inline constexpr auto sobel_x = [](auto const& image) {
  auto const bounded = reflect(image);
  return compute<"sobel_x">(image.extent(0), image.extent(1),
                            [&](auto y, auto x) { return detail::sobel_at<true>(bounded, y, x); });
};
/// From top to bottom.
inline constexpr auto sobel_y = [](auto const& image) {
  auto const bounded = reflect(image);
  return compute<"sobel_y">(image.extent(0), image.extent(1),
                            [&](auto y, auto x) { return detail::sobel_at<false>(bounded, y, x); });
};
/// The length of the slope.
inline constexpr auto sobel = [](auto const& image) {
  auto const bounded = reflect(image);
  return compute<"sobel">(image.extent(0), image.extent(1), [&](auto y, auto x) {
    auto const across = detail::sobel_at<true>(bounded, y, x), down = detail::sobel_at<false>(bounded, y, x);
    return weft::sqrt(across * across + down * down);
  });
};

}  // namespace ops
}  // namespace weft::inline WEFT_ABI
