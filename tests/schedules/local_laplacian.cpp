// One level of the local Laplacian filter (Paris, Hasinoff, Kautz, SIGGRAPH 2011; Halide's apps/local_laplacian): pyramids of
// several remapped images, of which each pixel picks two.
#include "schedules/check.hpp"

namespace {

constexpr int levels = 4;  // of brightness
constexpr float alpha = 0.5f, beta = 0.75f;

// 1 3 3 1 over 8 at even places, and linear interpolation back.
constexpr auto down_x = [](auto f, auto y, auto x, auto... k) {
  return (f(y, 2 * x - 1, k...) + 3.0f * (f(y, 2 * x, k...) + f(y, 2 * x + 1, k...)) + f(y, 2 * x + 2, k...)) * 0.125f;
};
constexpr auto down_y = [](auto f, auto y, auto x, auto... k) {
  return (f(2 * y - 1, x, k...) + 3.0f * (f(2 * y, x, k...) + f(2 * y + 1, x, k...)) + f(2 * y + 2, x, k...)) * 0.125f;
};
constexpr auto up = [](auto f, auto y, auto x, auto... k) {
  auto const along_x = [=](auto row) { return 0.25f * f(row, x / 2 - 1 + 2 * (x % 2), k...) + 0.75f * f(row, x / 2, k...); };
  return 0.25f * along_x(y / 2 - 1 + 2 * (y % 2)) + 0.75f * along_x(y / 2);
};

constexpr auto what = [](auto in) {  // values from 0 to 1
  auto const height = in.extent(0), width = in.extent(1), h1 = (height + 1) / 2, w1 = (width + 1) / 2;
  auto g0 = weft::compute<"g0">(height, width, levels, [=](auto y, auto x, auto k) {
    auto const level = weft::cast<float>(k) / (levels - 1.0f);
    auto const d = (in(y, x) - level) * (levels - 1.0f);
    return beta * (in(y, x) - level) + level + alpha * d * weft::exp(-0.5f * d * d) * 0.25f;
  });
  auto const e0 = weft::repeat_edge(g0);
  auto g1x = weft::compute<"g1x">(height, w1, levels, [=](auto y, auto x, auto k) { return down_x(e0, y, x, k); });
  auto const e1x = weft::repeat_edge(g1x);
  auto g1 = weft::compute<"g1">(h1, w1, levels, [=](auto y, auto x, auto k) { return down_y(e1x, y, x, k); });
  auto const e1 = weft::repeat_edge(g1);
  auto l0 = weft::compute<"l0">(height, width, levels, [=](auto y, auto x, auto k) { return g0(y, x, k) - up(e1, y, x, k); });
  auto const in_edge = weft::repeat_edge(in);
  auto in1x = weft::compute<"in1x">(height, w1, [=](auto y, auto x) { return down_x(in_edge, y, x); });
  auto const in1x_edge = weft::repeat_edge(in1x);
  auto in1 = weft::compute<"in1">(h1, w1, [=](auto y, auto x) { return down_y(in1x_edge, y, x); });
  auto const picked = [](auto const& brightness, auto const& pyramid, auto y, auto x) {
    auto const level = brightness(y, x) * (levels - 1.0f);
    auto const k = weft::clamp(weft::cast<std::int64_t>(level), 0, levels - 2);
    auto const f = level - weft::cast<float>(k);
    return (1.0f - f) * pyramid(y, x, k) + f * pyramid(y, x, k + 1);
  };
  auto out_l0 = weft::compute<"out_l0">(height, width, [=](auto y, auto x) { return picked(in, l0, y, x); });
  auto out_g1 = weft::compute<"out_g1">(h1, w1, [=](auto y, auto x) { return picked(in1, g1, y, x); });
  auto const out_edge = weft::repeat_edge(out_g1);
  return weft::compute<"out">(height, width, [=](auto y, auto x) { return up(out_edge, y, x) + out_l0(y, x); });
};
inline constexpr auto plain = weft::kernel<"local_laplacian">(what);
inline constexpr auto scheduled = weft::kernel<"local_laplacian">(
    what, [](auto& s, auto, auto g0, auto g1x, auto g1, auto l0, auto in1x, auto in1, auto out_l0, auto out_g1, auto out) {
      auto [y, x] = out.axes();
      auto [strip, row] = s.split(y, 16);
      s.parallel(strip);
      s.vectorize(s.split(x, 8)[1]);
      s.compute_inline(g0);
      s.compute_inline(l0);
      s.compute_inline(out_l0);
      s.compute_inline(g1x);
      s.compute_inline(in1x);
      auto [gy, gx, gk] = g1.axes();
      s.reorder(gy, gk, gx);
      s.parallel(gy);
      s.vectorize(s.split(gx, 8)[1]);
      auto [iy, ix] = in1.axes();
      s.parallel(iy);
      s.vectorize(s.split(ix, 8)[1]);
      s.vectorize(s.split(out_g1.axes()[1], 8)[1]);
      s.compute_at(out_g1, row);
      s.store_at(out_g1, strip);
      s.fold_storage(out_g1.axes()[0], 4);
    });

}  // namespace

TEST_CASE("a schedule for one level of the local Laplacian: a coarse window slides under two rows each") {
  weft::tensor<float, 2> in(33, 38);
  weft_test::fill(in);
  for (float& v : in) v = 0.25f + 0.5f * v;
  auto const at = [&](std::int64_t y, std::int64_t x) {  // with the nearest pixel outside
    return static_cast<double>(in(y < 0 ? 0 : y > 32 ? 32 : y, x < 0 ? 0 : x > 37 ? 37 : x));
  };
  auto const remapped = [&](std::int64_t y, std::int64_t x, int k) {
    double const level = k / (levels - 1.0), d = (at(y, x) - level) * (levels - 1.0);
    return 0.75 * (at(y, x) - level) + level + 0.5 * d * std::exp(-0.5 * d * d) * 0.25;
  };
  auto const edge = [](std::int64_t i, std::int64_t n) { return i < 0 ? 0 : i >= n ? n - 1 : i; };
  auto const coarse = [&](auto const& f, std::int64_t y, std::int64_t x) {
    y = edge(y, 17), x = edge(x, 19);
    double sum = 0;
    double const w[] = {0.125, 0.375, 0.375, 0.125};
    for (int v = 0; v < 4; ++v)
      for (int u = 0; u < 4; ++u) sum += w[v] * w[u] * f(edge(2 * y - 1 + v, 33), edge(2 * x - 1 + u, 38));
    return sum;
  };
  auto const fine = [&](auto const& g, std::int64_t y, std::int64_t x) {
    std::int64_t const y2 = y / 2 - 1 + 2 * (y % 2), x2 = x / 2 - 1 + 2 * (x % 2);
    return 0.25 * (0.25 * g(y2, x2) + 0.75 * g(y2, x / 2)) + 0.75 * (0.25 * g(y / 2, x2) + 0.75 * g(y / 2, x / 2));
  };
  auto const picked = [&](double brightness, auto const& pyramid) {
    double const level = brightness * (levels - 1.0);
    int const k = level < 0 ? 0 : level >= levels - 2 ? levels - 2 : static_cast<int>(level);
    return (1 - (level - k)) * pyramid(k) + (level - k) * pyramid(k + 1);
  };
  auto const g1 = [&](int k) {
    return [&, k](std::int64_t y, std::int64_t x) {
      return coarse([&](std::int64_t v, std::int64_t u) { return remapped(v, u, k); }, y, x);
    };
  };
  auto const out_g1 = [&](std::int64_t y, std::int64_t x) {
    return picked(coarse(at, y, x), [&](int k) { return g1(k)(y, x); });
  };
  weft_test::check_schedule("local_laplacian.ir", scheduled, plain, 1e-4, [&](std::int64_t y, std::int64_t x) {
    return fine(out_g1, y, x) + picked(at(y, x), [&](int k) { return remapped(y, x, k) - fine(g1(k), y, x); });
  }, in);
}
