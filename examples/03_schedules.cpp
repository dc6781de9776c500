// Lesson 3: one computation, six schedules.
//
// The what-lambda is written once. Each how-lambda changes only the order and the manner in which its loops run;
// the result is checked against the same reference every time. An argument is the largest size (1024).
//
// runs: in under 5 s with 256

#include <weft/bench/peak.hpp>
#include <weft/weft.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

constexpr auto product = [](auto A, auto B) {
  auto M = A.extent(0), K = A.extent(1), N = B.extent(1);
  return weft::compute<"C">(M, N, [=](auto i, auto j) {
    return weft::sum(K, [=](auto k) { return A(i, k) * B(k, j); });
  });
};

inline constexpr auto naive = weft::kernel<"naive">(product, [](auto&...) {});  // for i, for j, for k

inline constexpr auto tiled = weft::kernel<"tiled">(product, [](auto& s, auto, auto, auto C) {
  auto [i, j, k] = C.axes();
  s.tile(i, j, 32, 32);  // blocks of C that stay in the cache
  static_cast<void>(k);
});

inline constexpr auto reordered = weft::kernel<"reordered">(product, [](auto& s, auto, auto, auto C) {
  auto [i, j, k] = C.axes();
  auto [io, jo, ii, ji] = s.tile(i, j, 32, 64);
  auto [ko, ki] = s.split(k, 64);
  s.reorder(io, jo, ko, ii, ki, ji);  // rows of B and C are walked along memory
});

inline constexpr auto vectorized = weft::kernel<"vectorized">(product, [](auto& s, auto, auto, auto C) {
  auto [i, j, k] = C.axes();
  auto [io, jo, ii, ji] = s.tile(i, j, 32, 64);
  auto [ko, ki] = s.split(k, 64);
  s.reorder(io, jo, ko, ii, ki, ji);
  s.vectorize(ji);  // the 64 sums of a row stay in vector registers
});

// A register tile: mr x nr sums, each step of k loads one row of B and broadcasts mr elements of A.
// A knob offers values; the first that this CPU's registers can hold is taken.
constexpr auto register_tile = [](auto& s, auto C) {
  auto [i, j, k] = C.axes();
  auto [ko, ki] = s.split(k, s.knob("kb", {256, 512}));
  auto [io, ii] = s.split(i, s.knob("mr", {6, 4}));
  auto [jo, ji] = s.split(j, s.knob("nr", {64, 32, 16, 8}));
  s.reorder(ko, jo, io, ki, ii, ji);
  s.unroll(ii);
  s.vectorize(ji);
  return jo;
};
inline constexpr auto register_tiled = weft::kernel<"register_tiled">(
    product, [](auto& s, auto, auto, auto C) { register_tile(s, C); });
inline constexpr auto parallel = weft::kernel<"parallel">(
    product, [](auto& s, auto, auto, auto C) { s.parallel(register_tile(s, C)); });

double now_ms() {
  using clock = std::chrono::steady_clock;
  return std::chrono::duration<double, std::milli>(clock::now().time_since_epoch()).count();
}

struct problem {
  std::size_t n;
  std::vector<float> a, b, c;
};
problem make_problem(std::size_t n) {
  problem p{n, std::vector<float>(n * n), std::vector<float>(n * n), std::vector<float>(n * n)};
  std::mt19937 random(7);
  std::uniform_real_distribution<float> numbers(-1, 1);
  for (float& x : p.a) x = numbers(random);
  for (float& x : p.b) x = numbers(random);
  return p;
}

/// 256 elements against sums in double; each product is within K * 2^-24 * sum |a b| of the exact one.
bool verified(problem const& p) {
  std::mt19937 random(11);
  for (int t = 0; t < 256; ++t) {
    std::size_t const i = random() % p.n, j = random() % p.n;
    double sum = 0, magnitude = 0;
    for (std::size_t k = 0; k < p.n; ++k) {
      double const term = static_cast<double>(p.a[i * p.n + k]) * static_cast<double>(p.b[k * p.n + j]);
      sum += term;
      magnitude += std::abs(term);
    }
    double const bound = static_cast<double>(p.n) * std::ldexp(1.0, -24) * magnitude * 1.01;
    if (!(std::abs(static_cast<double>(p.c[i * p.n + j]) - sum) <= bound)) return false;
  }
  return true;
}

struct measurement {
  double ms = 0, jit_ms = 0;
  bool right = false;
};

template <class Kernel>
measurement measure(Kernel const& kernel, problem& p) {
  auto const a = weft::view(p.a, p.n, p.n), b = weft::view(p.b, p.n, p.n);
  auto const c = weft::out(p.c, p.n, p.n);
  measurement m;
  double const before = now_ms();
  auto const run = kernel.prepare(a, b, c);
  m.jit_ms = now_ms() - before;
  for (float& x : p.c) x = NAN;
  run(a, b, c);
  m.right = verified(p);
  std::vector<double> times;  // the median of what fits into a quarter of a second
  for (double start = now_ms(); times.empty() || (times.size() < 41 && now_ms() - start < 250);) {
    double const t = now_ms();
    run(a, b, c);
    times.push_back(now_ms() - t);
  }
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
  m.ms = times[times.size() / 2];
  return m;
}

int main(int argc, char** argv) {
  std::size_t const largest = argc > 1 ? static_cast<std::size_t>(std::atoi(argv[1])) : 1024;
  problem small = make_problem(16);
  measure(naive, small);  // loads LLVM, once in a process
  double const peak = weft::fma_peak_gflops();
  std::printf("C = A * B in f32 on %s: %d bytes a vector, %d threads; one thread's FMA peak %.0f GFLOP/s (measured)\n",
              weft::cpu().cpu.c_str(), weft::cpu().vector_bytes, weft::cpu().threads, peak);
  bool all_right = true;
  std::size_t parallel_pays = 0;
  for (std::size_t n = 128; n <= largest; n *= 2) {
    problem p = make_problem(n);
    std::printf("\n%5zu^3  schedule        %10s %10s %9s %9s %9s   checked\n", n, "ms", "GFLOP/s", "% of peak", "JIT ms",
                "speed-up");
    double first = 0, single = 0;
    auto const row = [&](char const* name, measurement const& m) {
      double const gflops = 2.0 * static_cast<double>(n * n * n) / m.ms * 1e-6;
      if (first == 0) first = m.ms;
      all_right = all_right && m.right;
      std::printf("         %-15s %10.3f %10.1f %9.1f %9.1f %9.1f   %s\n", name, m.ms, gflops, 100 * gflops / peak, m.jit_ms,
                  first / m.ms, m.right ? "yes" : "WRONG");
      std::fflush(stdout);
      return m.ms;
    };
    row("naive", measure(naive, p));
    row("tiled", measure(tiled, p));
    row("reordered", measure(reordered, p));
    row("vectorized", measure(vectorized, p));
    single = row("register tiled", measure(register_tiled, p));
    double const both = row("parallel", measure(parallel, p));
    if (parallel_pays == 0 && both < single * 0.95) parallel_pays = n;
  }
  std::printf("\nThe percentage is of one thread's peak; with %d threads %d00 would be all.\n", weft::cpu().threads,
              weft::cpu().threads);
  if (parallel_pays != 0) std::printf("Parallel pays from %zu^3 on.\n", parallel_pays);
  else std::printf("Parallel did not pay up to %zu^3 on this machine.\n", largest);

  problem p = make_problem(largest);
  auto const a = weft::view(p.a, p.n, p.n), b = weft::view(p.b, p.n, p.n);
  std::printf("\nThe nest before:\n\n%s\nand after:\n\n%s", naive.loops(a, b).c_str(), parallel.loops(a, b).c_str());
  return all_right ? 0 : 1;
}
