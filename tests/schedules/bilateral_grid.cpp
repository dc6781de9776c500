// The bilateral grid of Chen, Paris, Durand (SIGGRAPH 2007) with the schedule of Halide's apps/bilateral_grid: the grid's rows
// are made where they are blurred first, the other blurs are whole.
#include "schedules/check.hpp"

namespace {

constexpr int cell = 8;          // pixels
constexpr float levels = 10.0f;  // of brightness

constexpr auto what = [](auto in) {  // values from 0 to 1
  auto const height = in.extent(0), width = in.extent(1);
  auto const rows = height / cell + 3, columns = width / cell + 3;
  constexpr int depth = static_cast<int>(levels) + 3;
  auto histogram = weft::compute<"histogram">(rows, columns, depth, 2, [=](auto y, auto x, auto z, auto c) {
    return weft::sum(cell, cell, [=](auto dy, auto dx) {
      auto const value = weft::repeat_edge(in)((y - 1) * cell + dy - cell / 2, (x - 1) * cell + dx - cell / 2);
      auto const level = weft::cast<std::int64_t>(value * levels + 0.5f) + 1;
      return weft::select(level == z, weft::select(c == 0, value, 1.0f), 0.0f);
    });
  });
  auto const five = [](auto at) { return at(-2) + at(2) + 4.0f * (at(-1) + at(1)) + 6.0f * at(0); };
  auto blurz = weft::compute<"blurz">(rows, columns, depth, 2, [=](auto y, auto x, auto z, auto c) {
    return five([=](int d) { return weft::constant_exterior(histogram, 0.0f)(y, x, z + d, c); });
  });
  auto blurx = weft::compute<"blurx">(rows, columns, depth, 2, [=](auto y, auto x, auto z, auto c) {
    return five([=](int d) { return weft::constant_exterior(blurz, 0.0f)(y, x + d, z, c); });
  });
  auto blury = weft::compute<"blury">(rows, columns, depth, 2, [=](auto y, auto x, auto z, auto c) {
    return five([=](int d) { return weft::constant_exterior(blurx, 0.0f)(y + d, x, z, c); });
  });
  return weft::compute<"smooth">(height, width, [=](auto y, auto x) {
    auto const zv = in(y, x) * levels;
    auto const z = weft::clamp(weft::cast<std::int64_t>(zv), 0, depth - 3) + 1;
    auto const zf = zv - weft::cast<float>(z - 1);
    auto const yf = weft::cast<float>(y % cell) / cell, xf = weft::cast<float>(x % cell) / cell;
    auto const yi = y / cell + 1, xi = x / cell + 1;
    auto const mix = [](auto a, auto b, auto t) { return a + (b - a) * t; };
    auto const at = [=](int c) {
      auto const along_x = [=](auto row, auto level) { return mix(blury(row, xi, level, c), blury(row, xi + 1, level, c), xf); };
      auto const along_y = [=](auto level) { return mix(along_x(yi, level), along_x(yi + 1, level), yf); };
      return mix(along_y(z), along_y(z + 1), zf);
    };
    return at(0) / at(1);
  });
};
inline constexpr auto plain = weft::kernel<"bilateral">(what);
inline constexpr auto scheduled =
    weft::kernel<"bilateral">(what, [](auto& s, auto, auto histogram, auto blurz, auto blurx, auto blury, auto smooth) {
      auto [hy, hx, hz, hc, dy, dx] = histogram.axes();
      s.reorder(hy, hx, hz, dy, dx, hc);
      s.unroll(hc);
      for (auto blur : {blurz, blurx, blury}) {
        auto [y, x, z, c] = blur.axes();
        s.parallel(y);
        auto [xo, xi] = s.split(x, 8);
        s.reorder(xo, z, xi, c);
        s.unroll(c);
      }
      s.compute_at(histogram, blurz.axes()[0]);
      auto [y, x] = smooth.axes();
      s.parallel(y);
      s.vectorize(s.split(x, 8)[1]);
    });

}  // namespace

TEST_CASE("Halide's schedule for the bilateral grid: rows of the grid are made where they are blurred") {
  weft::tensor<float, 2> in(41, 50);
  weft_test::fill(in);
  for (std::int64_t y = 0; y < 41; ++y)  // an edge that stays, and noise that goes
    for (std::int64_t x = 0; x < 50; ++x) in(y, x) = 0.1f * in(y, x) + (x < 25 ? 0.2f : 0.7f);
  weft_test::check_schedule("bilateral_grid.ir", scheduled, plain, 0.04, [&](std::int64_t, std::int64_t x) {
    return x < 25 ? 0.25 : 0.75;
  }, in);
}
