// The pieces of docs/benchmark.md, compiled and run.
#include <doctest/doctest.h>

#include <iostream>
#include <numeric>
#include <sstream>
#include <vector>

#include "weft/bench.hpp"
#include "weft/bench/cuda.hpp"
#include "weft/weft.hpp"

namespace {
constexpr auto dot = weft::kernel<"dot">([](auto x, auto y) {
  return weft::compute<"dot">(1, [=](auto) { return weft::sum(x.extent(0), [=](auto i) { return x(i) * y(i); }); });
});

/// Compiled here, and run by tests/cuda_calls.cpp in like manner.
[[maybe_unused]] double on_a_gpu() {
  weft::cuda_tensor<float, 1> x_there({64}), y_there({64}), z_there({1});
  weft::measuring const quick{.budget_ms = 5};
  auto const there = weft::benchmark(quick, dot.on(weft::cuda()), x_there, y_there, weft::out(z_there));
  auto const held = dot.on(weft::cuda());
  auto const result = weft::compare({{"held", weft::by_events(weft::cuda(), [&] { held(x_there, y_there, weft::out(z_there)); })},
                                     {"as it stands", weft::by_events(weft::cuda(), [&] { dot.on(weft::cuda())(x_there, y_there, weft::out(z_there)); })}});
  return there.lines[0].time.median / result.lines[1].time.median;
}
}  // namespace

TEST_CASE("docs/benchmark: a kernel, and two ways side by side") {
  std::vector<float> x(1 << 12, 0.5f), y(1 << 12, 2.0f), z(1);
  std::ostringstream shown;
  auto* const before = std::cout.rdbuf(shown.rdbuf());

  std::cout << weft::benchmark(dot, x, y, weft::out(z));

  auto const fast = dot.prepare(x, y, weft::out(z));
  auto const result = weft::compare({{"std::inner_product", [&] { z[0] = std::inner_product(x.begin(), x.end(), y.begin(), 0.0f); }},
                                     {"weft", [&] { fast(x, y, weft::out(z)); }}});
  std::cout << result;
  bool const is_faster = result.lines[1].found == weft::bench::outcome::faster;

  std::cout.rdbuf(before);
  CHECK(z[0] == 4096);
  CHECK(shown.str().find("std::inner_product") != std::string::npos);
  CHECK(is_faster == (result.lines[1].over_first.sure.high < 0.99));

  auto const cold = weft::benchmark({.budget_ms = 50, .cold = true}, dot, x, y, weft::out(z));
  std::string const for_machines = cold.json();
  weft::benchmark_line const& line = cold.lines[0];
  double const speed = line.gbs(), part = line.of_roofline();
  CHECK(for_machines.find("\"name\":\"dot\"") != std::string::npos);
  CHECK(speed > 0);
  CHECK(line.gflops() > 0);
  CHECK(part > 0);

  // What they stand on, for those who measure something else.
  weft::contestant const whole("inner_product", [&] { z[0] = std::inner_product(x.begin(), x.end(), y.begin(), 0.0f); });
  weft::bench::timing const time = weft::bench::measure({whole.work()}, {.budget_ms = 20})[0];
  CHECK(time.median > 0);
  weft::sequence<double> const before_change{11, 10, 12, 10, 11, 10, 12}, after{9, 8, 9, 8, 9, 8, 9};
  weft::bench::ratio const r = weft::bench::ratio_of_medians(after, before_change);
  CHECK(weft::bench::judged(r) == weft::bench::outcome::faster);
  weft::bench::interval const sure = weft::bench::median_interval(after);
  CHECK(weft::bench::median(after) == 9);
  CHECK(weft::bench::quantile(after, 0) == 8);
  CHECK(sure.relative_to(9) <= 0.1);
  CHECK(weft::memory_peak_gbs(1) > 0);
  CHECK(weft::bench::bytes_beyond_caches() > 0);
  weft::bench::machine_peaks const peaks = weft::bench::peaks_of(1), again = weft::bench::peaks_measured_again(1);
  CHECK(again.gbs >= peaks.gbs);  // the larger one is kept
  CHECK(weft::bench::clock_cost() > 0);
  CHECK(weft::bench::now_ns() > 0);
}
