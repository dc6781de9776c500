#include "weft/ops/image.hpp"

#include "ops/check.hpp"
#include "weft/ops/resize.hpp"

using namespace weft_test;
namespace ops = weft::ops;

namespace {
constexpr double u = 0x1p-24;
/// A place outside of 0..n-1 turned back at the last element until it is inside.
long reflected(long at, long n) {
  while (at < 0 || at >= n) at = n == 1 ? 0 : at < 0 ? -at : 2 * (n - 1) - at;
  return at;
}
}  // namespace

TEST_CASE("blurs weigh the pixels around, mirrored at the border") {
  constexpr auto box = weft::kernel<"box">(ops::box_blur);
  constexpr auto wide = weft::kernel<"wide">([](auto x) { return ops::box_blur(x, {.radius = 2}); });
  constexpr auto gaussian = weft::kernel<"gaussian">(ops::gaussian_blur);
  for (std::array<long, 2> const& size : {std::array<long, 2>{1, 1}, {2, 3}, {5, 7}}) {
    long const h = size[0], w = size[1];
    auto const x = drawn<float>(1, h, w);
    auto const y = drawn<std::uint8_t>(2, h, w);
    auto const mean = [h, w](auto const& image, long i, long j, long r) {
      double s = 0;
      for (long a = -r; a <= r; ++a)
        for (long b = -r; b <= r; ++b) s += image(reflected(i + a, h), reflected(j + b, w));
      return s / static_cast<double>((2 * r + 1) * (2 * r + 1));
    };
    check_op(box, shape_t<2>{h, w}, 2 * u, [&](long i, long j) { return mean(x, i, j, 1); }, x);  // one rounding
    check_op(wide, shape_t<2>{h, w}, 16 * u, [&](long i, long j) { return mean(y, i, j, 2); }, y);
    check_op(
        gaussian, shape_t<2>{h, w}, 0,
        [&](long i, long j) {  // by powers of two: exact
          double s = 0;
          double const weights[] = {1, 4, 6, 4, 1};
          for (long a = 0; a < 5; ++a)
            for (long b = 0; b < 5; ++b)
              s += weights[a] * weights[b] / 256 * x(reflected(i + a - 2, h), reflected(j + b - 2, w));
          return s;
        },
        x);
  }
}
TEST_CASE("sobel is the slope") {
  constexpr auto across = weft::kernel<"across">(ops::sobel_x);
  constexpr auto down = weft::kernel<"down">(ops::sobel_y);
  constexpr auto both = weft::kernel<"both">(ops::sobel);
  auto const x = drawn<float>(1, 5, 7);
  auto const y = drawn<std::uint8_t>(2, 3, 4);
  auto const slope = [](auto const& image, long i, long j, bool turned, long h, long w) {
    double const smooth[] = {1, 2, 1};
    double s = 0;
    for (long a = -1; a <= 1; ++a)
      for (long b = -1; b <= 1; ++b)
        s += smooth[(turned ? b : a) + 1] * static_cast<double>(turned ? a : b) *
             image(reflected(i + a, h), reflected(j + b, w));
    return s;
  };
  check_op(across, shape_t<2>{5, 7}, 0, [&](long i, long j) { return slope(x, i, j, false, 5, 7); }, x);
  check_op(down, shape_t<2>{5, 7}, 0, [&](long i, long j) { return slope(x, i, j, true, 5, 7); }, x);
  static_assert(std::is_same_v<decltype(across(y)), weft::tensor<int, 2>>);
  check_op(across, shape_t<2>{3, 4}, 0, [&](long i, long j) { return slope(y, i, j, false, 3, 4); }, y);
  check_op(
      both, shape_t<2>{5, 7}, 32 * u,
      [&](long i, long j) {  // the squares are exact
        return std::hypot(slope(x, i, j, false, 5, 7), slope(x, i, j, true, 5, 7));
      },
      x);
}
TEST_CASE("resize to more and to fewer pixels, in both layouts") {
  constexpr auto nearest = weft::kernel<"nearest">([](auto x) { return ops::resize_nearest(x, {.size = {7, 3}}); });
  constexpr auto linear = weft::kernel<"linear">([](auto x) { return ops::resize_bilinear(x, {.size = {7, 3}}); });
  constexpr auto last = weft::kernel<"last">(
      [](auto x) { return ops::resize_bilinear(x, {.size = {7, 3}, .layout = ops::layout::channels_last}); });
  auto const place = [](long i, long from, long to) {
    return std::fmax((static_cast<double>(i) + 0.5) * static_cast<double>(from) / static_cast<double>(to) - 0.5, 0);
  };
  for (std::array<long, 2> const& size : {std::array<long, 2>{3, 5}, {1, 1}, {14, 3}}) {
    long const h = size[0], w = size[1];
    auto const x = drawn<float>(1, 2, 2, h, w), z = drawn<float>(2, 1, h, w, 3);
    auto const between = [&](auto const& at, long i, long j) {
      double const y = place(i, h, 7), c = place(j, w, 3);
      long const y0 = static_cast<long>(y), x0 = static_cast<long>(c), y1 = y0 + 1 < h ? y0 + 1 : y0,
                 x1 = x0 + 1 < w ? x0 + 1 : x0;
      double const a = y - static_cast<double>(y0), b = c - static_cast<double>(x0);
      return (1 - a) * ((1 - b) * at(y0, x0) + b * at(y0, x1)) + a * ((1 - b) * at(y1, x0) + b * at(y1, x1));
    };
    check_op(
        nearest, shape_t<4>{2, 2, 7, 3}, 0,
        [&](long n, long c, long i, long j) { return x(n, c, i * h / 7, j * w / 3); }, x);
    // Numbers below 2, their differences below 4: a place within u, and four roundings in each direction.
    double const bound = 2 * (4 * u + 4 * 4 * u);
    check_op(
        linear, shape_t<4>{2, 2, 7, 3}, bound,
        [&](long n, long c, long i, long j) {
          return between([&](long y, long k) { return double(x(n, c, y, k)); }, i, j);
        },
        x);
    check_op(
        last, shape_t<4>{1, 7, 3, 3}, bound,
        [&](long n, long i, long j, long c) {
          return between([&](long y, long k) { return double(z(n, y, k, c)); }, i, j);
        },
        z);
  }
}
