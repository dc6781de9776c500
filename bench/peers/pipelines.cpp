// Image pipelines of 5 to 51 stages, without a schedule, against Halide's autoschedulers on the same stages.
//
// Images are grey, m x n, of values from 0 to 1; what a stencil needs beyond the edge is left out of the result, or the edge is
// repeated where the filter is defined so. After Halide's apps of these names; the first local Laplacian has one level, the pyramids
// have 4 (23 stages) and 8 (51), and the camera is a pipe of ours with the same kinds of stages.
#include <array>

#include "families.hpp"

namespace bench::peers {
namespace {
constexpr auto sum3x3 = [](auto f) {
  return [=](auto y, auto x) {
    return f(y, x) + f(y, x + 1) + f(y, x + 2) + f(y + 1, x) + f(y + 1, x + 1) + f(y + 1, x + 2) + f(y + 2, x) + f(y + 2, x + 1) +
           f(y + 2, x + 2);
  };
};

inline constexpr auto harris = weft::kernel<"harris">([](auto in) {
  auto const h = in.extent(0), w = in.extent(1);
  auto Iy = weft::compute<"Iy">(h - 2, w - 2, [=](auto y, auto x) {
    return (in(y + 2, x) - in(y, x)) / 12.0f + (in(y + 2, x + 1) - in(y, x + 1)) / 6.0f + (in(y + 2, x + 2) - in(y, x + 2)) / 12.0f;
  });
  auto Ix = weft::compute<"Ix">(h - 2, w - 2, [=](auto y, auto x) {
    return (in(y, x + 2) - in(y, x)) / 12.0f + (in(y + 1, x + 2) - in(y + 1, x)) / 6.0f + (in(y + 2, x + 2) - in(y + 2, x)) / 12.0f;
  });
  auto Ixx = weft::compute<"Ixx">(h - 2, w - 2, [=](auto y, auto x) { return Ix(y, x) * Ix(y, x); });
  auto Iyy = weft::compute<"Iyy">(h - 2, w - 2, [=](auto y, auto x) { return Iy(y, x) * Iy(y, x); });
  auto Ixy = weft::compute<"Ixy">(h - 2, w - 2, [=](auto y, auto x) { return Ix(y, x) * Iy(y, x); });
  auto Sxx = weft::compute<"Sxx">(h - 4, w - 4, sum3x3(Ixx));
  auto Syy = weft::compute<"Syy">(h - 4, w - 4, sum3x3(Iyy));
  auto Sxy = weft::compute<"Sxy">(h - 4, w - 4, sum3x3(Ixy));
  return weft::compute<"harris">(h - 4, w - 4, [=](auto y, auto x) {
    auto const det = Sxx(y, x) * Syy(y, x) - Sxy(y, x) * Sxy(y, x), trace = Sxx(y, x) + Syy(y, x);
    return det - 0.04f * trace * trace;
  });
});

inline constexpr auto unsharp = weft::kernel<"unsharp">([](auto in) {
  auto const h = in.extent(0), w = in.extent(1);
  // A Gaussian of 1.5 pixels, as far as 3.
  auto const seven = [](auto at) {
    return 0.2708f * at(3) + 0.2167f * (at(2) + at(4)) + 0.1113f * (at(1) + at(5)) + 0.0366f * (at(0) + at(6));
  };
  auto blur_y = weft::compute<"blur_y">(h - 6, w, [=](auto y, auto x) { return seven([&](int d) { return in(y + d, x); }); });
  auto blur_x = weft::compute<"blur_x">(h - 6, w - 6, [=](auto y, auto x) { return seven([&](int d) { return blur_y(y, x + d); }); });
  auto sharp = weft::compute<"sharp">(h - 6, w - 6, [=](auto y, auto x) { return 2.0f * in(y + 3, x + 3) - blur_x(y, x); });
  auto ratio = weft::compute<"ratio">(h - 6, w - 6, [=](auto y, auto x) { return sharp(y, x) / in(y + 3, x + 3); });
  return weft::compute<"unsharp">(h - 6, w - 6, [=](auto y, auto x) { return ratio(y, x) * in(y + 3, x + 3); });
});

// Of the local Laplacian filters: an image of half the size, of twice the size, the tone at one of `count` levels, and what lies
// between two levels of it.
constexpr auto down = [](auto const& at) { return (at(-1) + 3.0f * (at(0) + at(1)) + at(2)) * 0.125f; };
constexpr auto up = [](auto f, auto y, auto x, auto... k) {
  auto const along_x = [=](auto row) { return 0.25f * f(row, x / 2 - 1 + 2 * (x % 2), k...) + 0.75f * f(row, x / 2, k...); };
  return 0.25f * along_x(y / 2 - 1 + 2 * (y % 2)) + 0.75f * along_x(y / 2);
};
constexpr auto tone = [](auto value, auto k, int count) {
  auto const steps = static_cast<float>(count - 1);
  auto const level = weft::cast<float>(k) / steps;
  auto const d = (value - level) * steps;
  return 0.75f * (value - level) + level + 0.5f * d * weft::exp(-0.5f * d * d) * 0.25f;
};
constexpr auto picked = [](auto const& brightness, auto const& pyramid, auto y, auto x, int count) {
  auto const level = brightness(y, x) * static_cast<float>(count - 1);
  auto const k = weft::clamp(weft::cast<std::int64_t>(level), 0, count - 2);
  auto const f = level - weft::cast<float>(k);
  return (1.0f - f) * pyramid(y, x, k) + f * pyramid(y, x, k + 1);
};

constexpr int levels = 4;
inline constexpr auto local_laplacian = weft::kernel<"local_laplacian">([](auto in) {
  auto const h = in.extent(0), w = in.extent(1), h1 = (h + 1) / 2, w1 = (w + 1) / 2;
  auto g0 = weft::compute<"g0">(h, w, levels, [=](auto y, auto x, auto k) { return tone(in(y, x), k, levels); });
  auto const e0 = weft::repeat_edge(g0);
  auto g1x = weft::compute<"g1x">(h, w1, levels, [=](auto y, auto x, auto k) { return down([&](int d) { return e0(y, 2 * x + d, k); }); });
  auto const e1x = weft::repeat_edge(g1x);
  auto g1 = weft::compute<"g1">(h1, w1, levels, [=](auto y, auto x, auto k) { return down([&](int d) { return e1x(2 * y + d, x, k); }); });
  auto const e1 = weft::repeat_edge(g1);
  auto l0 = weft::compute<"l0">(h, w, levels, [=](auto y, auto x, auto k) { return g0(y, x, k) - up(e1, y, x, k); });
  auto const in_edge = weft::repeat_edge(in);
  auto in1x = weft::compute<"in1x">(h, w1, [=](auto y, auto x) { return down([&](int d) { return in_edge(y, 2 * x + d); }); });
  auto const in1x_edge = weft::repeat_edge(in1x);
  auto in1 = weft::compute<"in1">(h1, w1, [=](auto y, auto x) { return down([&](int d) { return in1x_edge(2 * y + d, x); }); });
  auto out_l0 = weft::compute<"out_l0">(h, w, [=](auto y, auto x) { return picked(in, l0, y, x, levels); });
  auto out_g1 = weft::compute<"out_g1">(h1, w1, [=](auto y, auto x) { return picked(in1, g1, y, x, levels); });
  auto const out_edge = weft::repeat_edge(out_g1);
  return weft::compute<"out">(h, w, [=](auto y, auto x) { return up(out_edge, y, x) + out_l0(y, x); });
});

constexpr int tones = 8;
/// The same down to an image of 1 / 2^(Images - 1) of the size, as Halide's app: 7 * Images - 5 stages.
template <std::size_t Images>
inline constexpr auto laplacian_pyramid = weft::kernel<"laplacian_pyramid">([](auto in) {
  auto const first = weft::compute<"g">(in.extent(0), in.extent(1), tones, [=](auto y, auto x, auto k) { return tone(in(y, x), k, tones); });
  std::array<std::remove_const_t<decltype(first)>, Images> g{first};
  std::array<decltype(in), Images> image{in};
  for (std::size_t j = 1; j < Images; ++j) {
    auto const fine = weft::repeat_edge(g[j - 1]);
    auto const h = fine.inner.extent(0), w = fine.inner.extent(1);
    auto const gx = weft::compute<"gx">(h, (w + 1) / 2, tones, [=](auto y, auto x, auto k) { return down([&](int d) { return fine(y, 2 * x + d, k); }); });
    auto const narrow = weft::repeat_edge(gx);
    g[j] = weft::compute<"g">((h + 1) / 2, (w + 1) / 2, tones, [=](auto y, auto x, auto k) { return down([&](int d) { return narrow(2 * y + d, x, k); }); });
    auto const sharp = weft::repeat_edge(image[j - 1]);
    auto const ix = weft::compute<"ix">(h, (w + 1) / 2, [=](auto y, auto x) { return down([&](int d) { return sharp(y, 2 * x + d); }); });
    auto const half = weft::repeat_edge(ix);
    image[j] = weft::compute<"i">((h + 1) / 2, (w + 1) / 2, [=](auto y, auto x) { return down([&](int d) { return half(2 * y + d, x); }); });
  }
  auto const top = g[Images - 1];
  auto const seen = image[Images - 1];
  auto out = weft::compute<"out">(top.extent(0), top.extent(1), [=](auto y, auto x) { return picked(seen, top, y, x, tones); });
  for (std::size_t j = Images - 1; j-- > 0;) {
    auto const here = g[j];
    auto const bright = image[j];
    auto const coarse = weft::repeat_edge(g[j + 1]);
    auto const l = weft::compute<"l">(here.extent(0), here.extent(1), tones, [=](auto y, auto x, auto k) { return here(y, x, k) - up(coarse, y, x, k); });
    auto const o = weft::compute<"o">(here.extent(0), here.extent(1), [=](auto y, auto x) { return picked(bright, l, y, x, tones); });
    auto const below = weft::repeat_edge(out);
    out = weft::compute<"out">(here.extent(0), here.extent(1), [=](auto y, auto x) { return up(below, y, x) + o(y, x); });
  }
  return out;
});

constexpr int cell = 8, depth = 13;
constexpr float brightness = 10.0f;
inline constexpr auto bilateral_grid = weft::kernel<"bilateral_grid">([](auto in) {
  auto const h = in.extent(0), w = in.extent(1), rows = h / cell + 3, columns = w / cell + 3;
  auto histogram = weft::compute<"histogram">(rows, columns, depth, 2, [=](auto y, auto x, auto z, auto c) {
    return weft::sum(cell, cell, [=](auto dy, auto dx) {
      auto const value = weft::repeat_edge(in)((y - 1) * cell + dy - cell / 2, (x - 1) * cell + dx - cell / 2);
      auto const level = weft::cast<std::int64_t>(value * brightness + 0.5f) + 1;
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
  return weft::compute<"smooth">(h, w, [=](auto y, auto x) {
    auto const zv = in(y, x) * brightness;
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
});

/// Of a sensor with green at even places of even rows (G R / B G): hot pixels, colours between pixels, a matrix, a curve, sharpened.
inline constexpr auto camera = weft::kernel<"camera">([](auto in) {
  auto const h = in.extent(0), w = in.extent(1);
  auto cool = weft::compute<"cool">(h - 4, w - 4, [=](auto y, auto x) {
    auto const a = in(y, x + 2), b = in(y + 4, x + 2), c = in(y + 2, x), d = in(y + 2, x + 4);
    return weft::clamp(in(y + 2, x + 2), weft::min(weft::min(a, b), weft::min(c, d)), weft::max(weft::max(a, b), weft::max(c, d)));
  });
  auto const pick = [](auto y, auto x, auto even_even, auto even_odd, auto odd_even, auto odd_odd) {
    return weft::select(y % 2 == 0, weft::select(x % 2 == 0, even_even, even_odd), weft::select(x % 2 == 0, odd_even, odd_odd));
  };
  auto const beside = [=](auto y, auto x) { return 0.5f * (cool(y + 1, x) + cool(y + 1, x + 2)); };
  auto const above = [=](auto y, auto x) { return 0.5f * (cool(y, x + 1) + cool(y + 2, x + 1)); };
  auto const across = [=](auto y, auto x) { return 0.25f * (cool(y, x) + cool(y, x + 2) + cool(y + 2, x) + cool(y + 2, x + 2)); };
  auto const here = [=](auto y, auto x) { return cool(y + 1, x + 1); };
  // At (y, x) of these is the pixel (y + 3, x + 3) of the sensor, so even is odd there.
  auto red = weft::compute<"red">(h - 6, w - 6, [=](auto y, auto x) {
    return pick(y, x, above(y, x), across(y, x), here(y, x), beside(y, x));
  });
  auto green = weft::compute<"green">(h - 6, w - 6, [=](auto y, auto x) {
    auto const cross = 0.5f * (beside(y, x) + above(y, x));
    return pick(y, x, here(y, x), cross, cross, here(y, x));
  });
  auto blue = weft::compute<"blue">(h - 6, w - 6, [=](auto y, auto x) {
    return pick(y, x, beside(y, x), here(y, x), across(y, x), above(y, x));
  });
  auto toned = weft::compute<"toned">(3, h - 6, w - 6, [=](auto c, auto y, auto x) {
    auto const r = red(y, x), g = green(y, x), b = blue(y, x);
    auto const mixed = weft::select(c == 0, 1.6f * r - 0.4f * g - 0.2f * b,
                                    weft::select(c == 1, 1.5f * g - 0.3f * r - 0.2f * b, 1.7f * b - 0.1f * r - 0.6f * g));
    auto const v = weft::clamp(mixed, 0.0f, 1.0f);
    return v * (1.5f - 0.5f * v) * (1.25f - 0.25f * v);
  });
  return weft::compute<"sharp">(3, h - 8, w - 8, [=](auto c, auto y, auto x) {
    auto const around = toned(c, y, x + 1) + toned(c, y + 2, x + 1) + toned(c, y + 1, x) + toned(c, y + 1, x + 2);
    return weft::clamp(2.0f * toned(c, y + 1, x + 1) - 0.25f * around, 0.0f, 1.0f);
  });
});

template <class Kernel, class Out>
void compare(report& r, char const* name, task what, int threads, Kernel const& kernel, std::int64_t margin, std::int64_t planes,
             double bound, Out const& out, std::int64_t images = 1) {
  std::string const title = text("%s 1536x2560", name);
  if (title.find(r.wanted.only) == std::string::npos) return;
  problem p;
  p.what = what, p.threads = threads, p.m = 1536, p.n = 2560, p.k = images;
  std::int64_t const count = planes * (p.m - margin) * (p.n - margin);
  buffer const in(static_cast<std::size_t>(p.m * p.n), 1), result(static_cast<std::size_t>(count), 2);
  in.randomize(1);
  // An edge, a slope, and noise of a tenth: from 0.1 to 0.9.
  for (std::int64_t i = 0; i < p.m * p.n; ++i)
    in.data()[i] = 0.35f + (i % p.n > p.n / 2 ? 0.2f : 0.0f) + 0.15f * static_cast<float>(i) / static_cast<float>(p.m * p.n) + 0.1f * in.data()[i];
  p.in[0] = in.data(), p.out = result.data();
  work w;
  w.by_bytes = true, w.bytes = 4.0 * static_cast<double>(p.m * p.n + count);
  contest c(r, "image pipelines", title, p, w, {0, 1.0});
  c.result(count);
  c.weft("weft", ready(kernel, threads, weft::view(in.data(), p.m, p.n), out(result.data(), p)));
  c.agree(bound);
}
}  // namespace

void pipelines(report& r, int threads) {
  auto const plane = [](std::int64_t margin) {
    return [margin](float* to, problem const& p) { return weft::out(to, p.m - margin, p.n - margin); };
  };
  compare(r, "harris", task::harris, threads, harris, 4, 1, 1e-5, plane(4));
  compare(r, "unsharp", task::unsharp, threads, unsharp, 6, 1, 1e-5, plane(6));
  compare(r, "local laplacian", task::local_laplacian, threads, local_laplacian, 0, 1, 1e-4, plane(0));
  compare(r, "camera", task::camera, threads, camera, 8, 3, 1e-4,
          [](float* to, problem const& p) { return weft::out(to, 3, p.m - 8, p.n - 8); });
  compare(r, "local laplacian, 4 images", task::laplacian_pyramid, threads, laplacian_pyramid<4>, 0, 1, 1e-4, plane(0), 4);
  compare(r, "local laplacian, 8 images", task::laplacian_pyramid, threads, laplacian_pyramid<8>, 0, 1, 1e-4, plane(0), 8);
  // The last: Adams' autoscheduler takes a minute, and 2.5 GB, for it.
  compare(r, "bilateral grid", task::bilateral_grid, threads, bilateral_grid, 0, 1, 1e-3, plane(0));
}

}  // namespace bench::peers
