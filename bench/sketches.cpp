// Kernels without a how-lambda, tuned: against the schedule by rule, and what the tuner itself costs.
#include <stdlib.h>

#include <filesystem>

#include "harness.hpp"
#include "weft/bench.hpp"
#include "weft/runtime/cache/cache.hpp"
#include "weft/tune.hpp"
#include "weft/weft.hpp"

namespace bench {
namespace {
// Each twice: what is kept for one name is not found under the other.
template <weft::fixed_string Name>
inline constexpr auto product = weft::kernel<Name>([](auto A, auto B) {
  return weft::compute<"C">(A.extent(0), B.extent(1), [=](auto i, auto j) {
    return weft::sum(A.extent(1), [=](auto k) { return A(i, k) * B(k, j); });
  });
});
template <weft::fixed_string Name>
inline constexpr auto convolution = weft::kernel<Name>([](auto x, auto w) {
  return weft::compute<"y">(x.extent(0) - 2, x.extent(1) - 2, w.extent(3), [=](auto i, auto j, auto o) {
    return weft::sum(3, 3, x.extent(2), [=](auto a, auto b, auto c) { return x(i + a, j + b, c) * w(a, b, c, o); });
  });
});
template <weft::fixed_string Name>
inline constexpr auto softmax = weft::kernel<Name>([](auto x) {
  auto m = weft::compute<"m">(x.extent(0), [=](auto i) { return weft::max(x.extent(1), [=](auto k) { return x(i, k); }); });
  auto e = weft::compute<"e">(x.extent(0), x.extent(1), [=](auto i, auto j) { return weft::exp(x(i, j) - m(i)); });
  auto s = weft::compute<"s">(x.extent(0), [=](auto i) { return weft::sum(x.extent(1), [=](auto k) { return e(i, k); }); });
  return weft::compute<"y">(x.extent(0), x.extent(1), [=](auto i, auto j) { return e(i, j) / s(i); });
});
template <std::size_t Rank, class... N>
weft::tensor<float, Rank> numbers(N... extents) {
  weft::tensor<float, Rank> t(extents...);
  for (std::size_t i = 0; i < static_cast<std::size_t>(t.size()); ++i) t.data()[i] = static_cast<float>(i * 7 % 13) * 0.25f - 1.5f;
  return t;
}
/// A kernel, the same under another name, its inputs and where its result goes.
template <class Kernel, class Rule, class Out, class... In>
void one(report& r, char const* name, Kernel const& kernel, Rule const& rule, Out& to, In const&... from) {
  weft::tune_result const found = weft::tune(kernel, {.trials = 64, .seconds = 20}, from..., weft::out(to));
  for (weft::tune_trial const& t : found.trials)
    if (t.wrong) r.wrong(t.why);
  weft::benchmark_result const both = weft::compare({{"by rule", [&] { rule(from..., weft::out(to)); }}, {"tuned", [&] { kernel(from..., weft::out(to)); }}});
  row line;
  line.variant = name, line.median = both.lines[1].time.median / 1e3, line.spread = both.lines[1].time.spread, line.unit = "us";
  line.ratio = 1 / both.lines[1].over_first.value, line.reference = "by rule";
  line.note = text("%zu trials, %.1f s", found.trials.size(), found.seconds);
  // Slower is what `compare` is sure of.
  demand_at_most(line, both.lines[1].over_first.sure.low, 1.01, " of the rule's time, surely");
  r.add(line);
  row own;
  own.variant = text("%s: the tuner's own", name), own.median = 1e3 * found.searching_seconds, own.unit = "ms";
  demand_at_most(own, 100 * found.searching_seconds / found.seconds, 20, " % of the tuning");
  r.add(own);
}
}  // namespace

void sketches(report& r) {
  namespace cache = weft::cache;
  char directory[] = "/tmp/weft-bench.XXXXXX";
  if (::mkdtemp(directory) == nullptr) return r.skip("no place for results in /tmp");
  cache::enable();
  cache::set_directory(directory);
  {
    auto const a = numbers<2>(1024, 1024), b = numbers<2>(1024, 1024);
    weft::tensor<float, 2> c(1024, 1024);
    one(r, "matmul 1024^3", product<"matmul">, product<"matmul_by_rule">, c, a, b);
  }
  {
    auto const x = numbers<3>(58, 58, 64);
    auto const w = numbers<4>(3, 3, 64, 64);
    weft::tensor<float, 3> y(56, 56, 64);
    one(r, "conv 3x3", convolution<"conv">, convolution<"conv_by_rule">, y, x, w);
  }
  {
    auto const x = numbers<2>(512, 1024);
    weft::tensor<float, 2> y(512, 1024);
    one(r, "softmax", softmax<"softmax">, softmax<"softmax_by_rule">, y, x);
  }
  cache::disable();
  std::filesystem::remove_all(directory);
}

}  // namespace bench
