// Harris corners as in Halide's apps/harris: grey and both gradients in windows that slide down a strip, all else inlined.
#include "schedules/check.hpp"

namespace {

constexpr auto what = [](auto in) {  // 3 x height x width
  auto const height = in.extent(1), width = in.extent(2);
  auto grey = weft::compute<"grey">(height, width, [=](auto y, auto x) {
    return 0.299f * in(0, y, x) + 0.587f * in(1, y, x) + 0.114f * in(2, y, x);
  });
  auto Iy = weft::compute<"Iy">(height - 2, width - 2, [=](auto y, auto x) {
    return (grey(y + 2, x) - grey(y, x)) / 12.0f + (grey(y + 2, x + 1) - grey(y, x + 1)) / 6.0f +
           (grey(y + 2, x + 2) - grey(y, x + 2)) / 12.0f;
  });
  auto Ix = weft::compute<"Ix">(height - 2, width - 2, [=](auto y, auto x) {
    return (grey(y, x + 2) - grey(y, x)) / 12.0f + (grey(y + 1, x + 2) - grey(y + 1, x)) / 6.0f +
           (grey(y + 2, x + 2) - grey(y + 2, x)) / 12.0f;
  });
  auto const product = [&](auto a, auto b) {
    return [=](auto y, auto x) { return a(y, x) * b(y, x); };
  };
  auto Ixx = weft::compute<"Ixx">(height - 2, width - 2, product(Ix, Ix));
  auto Iyy = weft::compute<"Iyy">(height - 2, width - 2, product(Iy, Iy));
  auto Ixy = weft::compute<"Ixy">(height - 2, width - 2, product(Ix, Iy));
  auto const sum3x3 = [](auto f) {
    return [=](auto y, auto x) {
      return f(y, x) + f(y, x + 1) + f(y, x + 2) + f(y + 1, x) + f(y + 1, x + 1) + f(y + 1, x + 2) + f(y + 2, x) +
             f(y + 2, x + 1) + f(y + 2, x + 2);
    };
  };
  auto Sxx = weft::compute<"Sxx">(height - 4, width - 4, sum3x3(Ixx));
  auto Syy = weft::compute<"Syy">(height - 4, width - 4, sum3x3(Iyy));
  auto Sxy = weft::compute<"Sxy">(height - 4, width - 4, sum3x3(Ixy));
  return weft::compute<"harris">(height - 4, width - 4, [=](auto y, auto x) {
    auto const det = Sxx(y, x) * Syy(y, x) - Sxy(y, x) * Sxy(y, x), trace = Sxx(y, x) + Syy(y, x);
    return det - 0.04f * trace * trace;
  });
};
inline constexpr auto plain = weft::kernel<"harris">(what);
inline constexpr auto scheduled =
    weft::kernel<"harris">(what, [](auto& s, auto, auto grey, auto Iy, auto Ix, auto Ixx, auto Iyy, auto Ixy, auto Sxx,
                                    auto Syy, auto Sxy, auto harris) {
      auto [y, x] = harris.axes();
      auto [strip, row] = s.split(y, 32);
      s.parallel(strip);
      s.vectorize(s.split(x, 8)[1]);
      for (auto inlined : {Ixx, Iyy, Ixy, Sxx, Syy, Sxy}) s.compute_inline(inlined);
      for (auto window : {Iy, Ix, grey}) {
        s.vectorize(s.split(window.axes()[1], 8)[1]);
        s.compute_at(window, row);
        s.store_at(window, strip);
        s.fold_storage(window.axes()[0], 8);
      }
    });

}  // namespace

TEST_CASE("Halide's schedule for Harris corners: three windows slide down a strip, one reads another") {
  weft::tensor<float, 3> in(3, 77, 39);
  weft_test::fill(in);
  auto const grey = [&](std::int64_t y, std::int64_t x) {
    return 0.299 * static_cast<double>(in(0, y, x)) + 0.587 * static_cast<double>(in(1, y, x)) +
           0.114 * static_cast<double>(in(2, y, x));
  };
  weft_test::check_schedule("harris.ir", scheduled, plain, 1e-5, [&](std::int64_t y, std::int64_t x) {
    double xx = 0, yy = 0, xy = 0;
    for (std::int64_t v = y; v < y + 3; ++v)
      for (std::int64_t u = x; u < x + 3; ++u) {
        double gx = 0, gy = 0;
        for (int d = 0; d < 3; ++d) {
          double const weight = d == 1 ? 1.0 / 6 : 1.0 / 12;
          gx += weight * (grey(v + d, u + 2) - grey(v + d, u));
          gy += weight * (grey(v + 2, u + d) - grey(v, u + d));
        }
        xx += gx * gx, yy += gy * gy, xy += gx * gy;
      }
    return xx * yy - xy * xy - 0.04 * (xx + yy) * (xx + yy);
  }, in);
}
