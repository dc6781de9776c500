// Kernels without a how-lambda, tuned: against the schedule by rule, against the best of others, and what the tuner itself costs.
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "harness.hpp"
#include "peers/modules.hpp"
#include "plain_kernels.hpp"
#include "weft/bench.hpp"
#include "weft/ops.hpp"
#include "weft/runtime/cache/cache.hpp"
#include "weft/tune.hpp"
#include "weft/tune/progress.hpp"
#include "weft/weft.hpp"

namespace bench {
namespace {
template <weft::fixed_string Name>
inline constexpr auto ops_softmax = weft::kernel<Name>([](auto x) { return weft::ops::softmax(x); });
/// "faster (0.91 to 0.93)"
std::string verdict_of(weft::bench::ratio const& x) {
  weft::bench::outcome const found = weft::bench::judged(x);
  char const* const word = found == weft::bench::outcome::faster ? "faster" : found == weft::bench::outcome::slower ? "slower" : "cannot be told apart";
  return text("%s (%.3f to %.3f)", word, x.sure.low, x.sure.high);
}
/// Whether a peer's result is ours: as many terms summed in another order.
bool is_like(float const* ours, float const* theirs, std::int64_t count, double terms) {
  double largest = 0;
  for (std::int64_t i = 0; i < count; ++i) largest = std::max(largest, std::abs(static_cast<double>(ours[i])));
  double const bound = 16 * std::sqrt(terms) * 0x1p-24 * largest;
  for (std::int64_t i = 0; i < count; ++i)
    if (!(std::abs(static_cast<double>(ours[i]) - static_cast<double>(theirs[i])) <= bound)) return false;
  return true;
}
/// On a terminal a line that is written anew after each trial.
bool shown(weft::tune_progress const& p) {
  if (::isatty(STDERR_FILENO) != 0) std::fprintf(stderr, "\r%-100s%s", weft::progress_line(p).c_str(), p.trials == p.most_trials ? "\r" : "");
  return true;
}
/// A kernel, the same under another name, what peers are asked, with how many terms in a sum; its result and its inputs.
template <class Kernel, class Rule, class Out, class... In>
void one(report& r, char const* name, Kernel const& kernel, Rule const& rule, peers::problem problem, double terms, Out& to, In const&... from) {
  weft::tune_result const found = weft::tune(kernel, {.trials = 64, .seconds = 20, .progress = [](weft::tune_progress const& p) { return shown(p); }}, from..., weft::out(to));
  for (weft::tune_trial const& t : found.trials)
    if (t.wrong) r.wrong(t.why);
  buffer const theirs(static_cast<std::size_t>(to.size()), 1);
  problem.threads = 2, problem.out = theirs.data();
  int input = 0;
  ((problem.in[input++] = from.data()), ...);
  // Weights in a layout of the peer's own choice, made beforehand, are another question: shown, not demanded.
  rule(from..., weft::out(to));
  std::vector<peers::way> others;
  for (peers::way const& w : peers::ways_of(r, problem, {"openblas", "onednn", "eigen"})) {
    w.run();
    if (is_like(to.data(), theirs.data(), static_cast<std::int64_t>(to.size()), terms)) others.push_back(w);
    else r.wrong(text("%s: %s computes something else", name, w.name.c_str()));
  }
  std::vector<weft::contestant> all{{"tuned", [&] { kernel(from..., weft::out(to)); }}, {"by rule", [&] { rule(from..., weft::out(to)); }}};
  for (peers::way const& w : others) all.push_back({w.name, w.run});
  weft::sequence<weft::bench::timed_work> works;
  for (weft::contestant const& c : all) works.push_back(c.work());
  weft::sequence<weft::bench::timing> const times = weft::bench::measure(works, {.sample_ms = 2, .budget_ms = 1000, .fewest = r.wanted.rounds});
  std::size_t best = 0;  // of the peers
  for (std::size_t i = 2; i < times.size(); ++i)
    if (others[i - 2].as == peers::weights::plain && (best == 0 || times[i].median < times[best].median)) best = i;
  row line;
  line.variant = name, line.median = times[0].median / 1e3, line.spread = times[0].spread, line.unit = "us";
  r.add(line);
  // Slower is what is sure.
  for (std::size_t i = 1; i < times.size(); ++i) {
    weft::bench::ratio const over = weft::bench::ratio_of_medians(times[0].samples, times[i].samples);
    row beside;
    beside.variant = text("%s: %s", name, all[i].name().c_str()), beside.median = times[i].median / 1e3, beside.spread = times[i].spread, beside.unit = "us";
    beside.ratio = over.value > 0 ? 1 / over.value : 0, beside.reference = "tuned over it";
    beside.note = text("tuned is %s", verdict_of(over).c_str());
    if (i == 1) demand_at_most(beside, over.sure.low, 1.01, " of the rule's time, surely");
    else if (i == best) demand_at_most(beside, over.sure.low, 1.01, " of the best peer's, surely");
    r.add(beside);
  }
  if (best == 0) r.skip(text("%s: no peer here", name));
  row spent;
  spent.variant = text("%s: the tuning", name), spent.median = found.seconds, spent.unit = "s";
  spent.note = text("%zu trials; %s", found.trials.size(), found.choices == found.trials[0].choices ? "the rule's own schedule is kept" : found.why.c_str());
  demand_at_most(spent, found.trials.size() <= 64 ? found.seconds : 1e9, 20, " s, 64 trials");
  r.add(spent);
  row own;
  own.variant = text("%s: the tuner's own", name), own.median = 1e3 * found.searching_seconds, own.unit = "ms";
  demand_at_most(own, 100 * found.searching_seconds / found.seconds, 20, " % of the tuning");
  r.add(own);
}
}  // namespace

void sketches(report& r) {
  if (peers::ran_with_environment(r, "tuned_by_search")) return;
  namespace cache = weft::cache;
  char directory[] = "/tmp/weft-bench.XXXXXX";
  if (::mkdtemp(directory) == nullptr) return r.skip("no place for results in /tmp");
  cache::enable();
  cache::set_directory(directory);
  {
    auto const a = plain_numbers<2>(1024, 1024), b = plain_numbers<2>(1024, 1024);
    weft::tensor<float, 2> c(1024, 1024);
    peers::problem p;
    p.what = peers::task::matmul, p.m = p.n = p.k = 1024;
    one(r, "matmul 1024^3", plain_product<"matmul">, plain_product<"matmul_by_rule">, p, 1024, c, a, b);
  }
  {
    auto const x = plain_numbers<3>(58, 58, 64);
    auto const w = plain_numbers<4>(3, 3, 64, 64);
    weft::tensor<float, 3> y(56, 56, 64);
    peers::problem p;
    p.what = peers::task::conv, p.c = p.o = 64, p.h = p.w = 58, p.kernel = 3;
    one(r, "conv 3x3", plain_convolution<"conv">, plain_convolution<"conv_by_rule">, p, 576, y, x, w);
  }
  {
    auto const x = plain_numbers<2>(512, 1024);
    weft::tensor<float, 2> y(512, 1024);
    peers::problem p;
    p.what = peers::task::softmax, p.m = 512, p.n = 1024;
    one(r, "softmax", plain_softmax<"softmax">, plain_softmax<"softmax_by_rule">, p, 1024, y, x);
    one(r, "ops::softmax", ops_softmax<"ops_softmax">, ops_softmax<"ops_softmax_by_rule">, p, 1024, y, x);
  }
  cache::disable();
  std::filesystem::remove_all(directory);
}

}  // namespace bench
