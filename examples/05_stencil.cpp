// Lesson 5: a stencil, and what lies beyond the border.
//
// Waves in a basin: each element of the next moment is made from its neighbours in this one. What a neighbour is that
// lies outside is said once, by a name; the index arithmetic, and the care that vectors take of it, are weft's.
// With a file name as argument the last moment is written there as a picture (.pgm).
//
// runs: in under 5 s

#include <weft/weft.hpp>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <utility>

// u'' = c^2 (u_xx + u_yy) by differences: next = 2 now - before + c^2 (up + down + left + right - 4 now)
constexpr auto wave_equation = [](auto const& u, auto const& before, auto c2) {  // u: `now` with a border
  return weft::compute<"next">(before.extent(0), before.extent(1), [=](auto y, auto x) {
    auto beside = (u(y - 1, x) + u(y + 1, x)) + (u(y, x - 1) + u(y, x + 1));
    return 2.0f * u(y, x) - before(y, x) + c2 * (beside - 4.0f * u(y, x));
  });
};
constexpr auto rows_at_once = [](auto& s, auto, auto, auto, auto next) {
  auto [y, x] = next.axes();
  auto [xo, xi] = s.split(x, 16);
  s.vectorize(xi);
  s.parallel(y);
  static_cast<void>(xo);
};
inline constexpr auto walls = weft::kernel<"walls">(  // the water at a wall is as high as beside it: waves come back
    [](auto now, auto before, auto c2) { return wave_equation(weft::repeat_edge(now), before, c2); }, rows_at_once);
inline constexpr auto held = weft::kernel<"held">(  // held at 0: they come back upside down
    [](auto now, auto before, auto c2) { return wave_equation(weft::constant_exterior(now, 0.0f), before, c2); },
    rows_at_once);
inline constexpr auto around = weft::kernel<"around">(  // what leaves on the right enters on the left
    [](auto now, auto before, auto c2) { return wave_equation(weft::wrap(now), before, c2); }, rows_at_once);

using grid = weft::tensor<float, 2>;
constexpr int height = 73, width = 149;

grid drop(double at_y, double at_x) {
  grid u(height, width);
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      u(y, x) = static_cast<float>(std::exp(-0.1 * (std::pow(y - at_y, 2) + std::pow(x - at_x, 2))));
  return u;
}
double total(grid const& u) {
  double sum = 0;
  for (float h : u) sum += static_cast<double>(h);
  return sum;
}
double now_ms() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct run_of_waves {
  grid now, before;
  double us_per_step = 0;
};
/// `steps` moments. Of `before` only the element that is being replaced is read, so the next moment takes its place.
template <class Kernel>
run_of_waves run(Kernel const& kernel, grid start, int steps) {
  run_of_waves r{start.clone(), static_cast<grid&&>(start)};
  auto const step = kernel.prepare(r.now, r.before, 0.25f, weft::out(r.before));
  double const begin = now_ms();
  for (int t = 0; t < steps; ++t) {
    step(r.now, r.before, 0.25f, weft::out(r.before));
    std::swap(r.now, r.before);
  }
  r.us_per_step = (now_ms() - begin) * 1000 / steps;
  return r;
}

/// One step against direct evaluation, which runs the lambda as it is written: the same bits.
template <class Kernel>
bool verified(Kernel const& kernel, grid const& now, grid const& before) {
  return weft::evaluate({.contract = weft::cpu().fma}, kernel, now, before, 0.25f) == kernel(now, before, 0.25f);
}

void draw(grid const& u) {
  for (int y = 0; y < height; y += 4) {
    for (int x = 0; x < width; x += 2) {
      double const h = 0.5 + 4.0 * static_cast<double>(u(y, x));
      std::putchar(" .:-=+*#%@"[h < 0 ? 0 : h >= 1 ? 9 : static_cast<int>(h * 10)]);
    }
    std::putchar('\n');
  }
}
bool write_picture(char const* file, grid const& u) {
  std::ofstream out(file, std::ios::binary);
  out << "P5 " << width << ' ' << height << " 255\n";
  for (float h : u)
    out.put(static_cast<char>(static_cast<unsigned char>(std::fmin(std::fmax(127.5f + 512.0f * h, 0.0f), 255.0f))));
  return static_cast<bool>(out);
}

int main(int argc, char** argv) {
  std::printf("%-8s %12s %12s %12s %12s   checked\n", "border", "total before", "total after", "highest", "us a step");
  bool all_right = true;
  auto const row = [&](char const* name, auto const& kernel) {
    grid const start = drop(20, 40);
    run_of_waves const r = run(kernel, start.clone(), 120);
    bool const right = verified(kernel, r.now, r.before);
    all_right = all_right && right;
    float highest = 0;
    for (float h : r.now) highest = std::fmax(highest, h);
    std::printf("%-8s %12.3f %12.3f %12.3f %12.1f   %s\n", name, total(start), total(r.now),
                static_cast<double>(highest), r.us_per_step, right ? "yes" : "WRONG");
    return r.now.clone();
  };
  grid const basin = row("walls", walls);
  row("held", held);
  row("around", around);

  std::printf("\nWalls keep the water, but for rounding, and so does a basin that closes on itself:\n\n");
  draw(basin);
  if (argc > 1 && !write_picture(argv[1], basin)) return 1;
  return all_right ? 0 : 1;
}
