// The pieces of docs/tuning.md that no example has, compiled and run.
#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>

#include "support/private_cache.hpp"
#include "weft/bench/counts.hpp"
#include "weft/bench/peak.hpp"
#include "weft/tune.hpp"
#include "weft/tune/report.hpp"
#include "weft/weft.hpp"

namespace {
constexpr auto product = weft::kernel<"product">([](auto A, auto B) {
  return weft::compute<"C">(A.extent(0), B.extent(1), [=](auto i, auto j) {
    return weft::sum(A.extent(1), [=](auto k) { return A(i, k) * B(k, j); });
  });
});
constexpr auto sums = weft::kernel<"sums">([](auto A) {
  return weft::compute<"s">(A.extent(0), [=](auto i) { return weft::sum(A.extent(1), [=](auto k) { return A(i, k); }); });
});
}  // namespace

TEST_CASE("docs/tuning: a kernel without a how-lambda") {
  weft_test::private_cache const here;
  weft::tensor<float, 2> a(48, 48), b(48, 48);
  weft::tune_result const r = weft::tune(product, {.trials = 64, .seconds = 20}, a, b);
  CHECK(r.trials.size() == 64);
  CHECK(r.best_ns > 0);
  std::string const page = here.path + "/product.html";
  std::ofstream(page) << weft::report(r);  // one file of HTML: no script, no network
  CHECK(weft_test::content(page).find("% of the roofline on ") != std::string::npos);
  char const* const worker = "weft-worker";
  weft::tune_options options;
  options.worker_program = worker;  // "weft-worker": looked for on PATH, as a shell does
  CHECK(weft::tuning::chosen_worker(options.worker, options.worker_program).where == weft::tuning::isolation::program);
}
TEST_CASE("docs/tuning: how many schedules there are") {
  weft::tensor<float, 2> a(48, 48);
  weft::tuning::space_size const size = weft::search_space(sums, a);
  CHECK(size.points >= size.legal);
  CHECK(size.legal >= 1);
}
TEST_CASE("docs/tuning: several kernels, and the machine's peaks") {
  weft_test::private_cache const here;
  weft::tensor<float, 2> a(48, 48), b(48, 48);
  auto const all = weft::tune_all({.trials = 200, .seconds = 30}, weft::tune_task(12, product, a, b), weft::tune_task(1, sums, a));
  CHECK(all.size() == 2);
  CHECK(all[0].trials.size() + all[1].trials.size() <= 204);
  weft::bench::machine_peaks const peaks = weft::bench::peaks_of(1);
  CHECK(peaks.gflops > 0);
  CHECK(peaks.gbs > 0);
  CHECK(weft::bench::counts{.operations = 2, .bytes = 48, .float_bytes = 8}.peak_of(100) == 50);  // f64: half the lanes
}
