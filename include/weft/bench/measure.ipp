#include <time.h>

#include "weft/bench/measure.hpp"
#include "weft/codegen/target.hpp"

namespace weft::inline WEFT_ABI {
namespace bench {
WEFT_DECL double now_ns() {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}
namespace detail {
/// Negative: it failed.
WEFT_DECL double timed(timed_work const& w, std::int64_t times) {
  if (w.own_clock != nullptr) return w.own_clock(w.context, times);
  double const start = now_ns();
  w.run(w.context, times);
  double const ns = now_ns() - start - clock_cost();
  return ns > 0 ? ns : 0;
}
/// How often to run it for a sample. What takes much longer than one is run once.
WEFT_DECL void calibrate(timing& t, timed_work const& w, double sample_ns, double give_up_ns) {
  double const first = timed(w, 1);
  // The first call of code takes some microseconds more than others, which of one that takes nanoseconds says nothing.
  t.failed = first < 0, t.gave_up = give_up_ns > 0 && first > give_up_ns + sample_ns;
  if (t.gave_up) t.samples.push_back(first);
  if (t.failed || t.gave_up || first > 20 * sample_ns) return;
  for (bool believed = false;; t.times *= 2) {
    double ns = timed(w, t.times);
    // Eight times what half as much took, and more: something else ran.
    if (ns >= sample_ns && t.times > 1 && !believed) believed = true, ns = timed(w, t.times);
    t.failed = ns < 0;
    if (t.failed || ns >= sample_ns || t.times > 1 << 30) return;
    // Once it can be told, straight there, with a tenth more so that no sample falls short.
    if (ns > sample_ns / 16) {
      t.times = static_cast<std::int64_t>(1.1 * sample_ns / ns * static_cast<double>(t.times)) + 1;
      return;
    }
  }
}
/// One more of it.
WEFT_DECL void take_sample(timing& t, timed_work const& w, double give_up_ns) {
  double const ns = timed(w, t.times);
  t.failed = ns < 0;
  if (t.failed) return;
  t.samples.push_back(ns / static_cast<double>(t.times));
  t.gave_up = give_up_ns > 0 && t.samples.size() == 3 && quantile(t.samples, 0) > give_up_ns / 2;
}
/// Twice the last cache, written: nothing of before is left in one.
class other_memory {
 public:
  explicit other_memory(bool wanted) : size_(wanted ? bytes() : 0), all_(size_, 0) {}
  void fill_caches() {
    for (std::size_t i = 0; i < size_; i += 64) all_[i] = static_cast<char>(all_[i] + 1);
  }

 private:
  static std::size_t bytes() {
    std::int64_t const last = host().l3_bytes > 0 ? host().l3_bytes : host().l2_bytes;
    return static_cast<std::size_t>(last > 0 ? 2 * last : std::int64_t(64) << 20);
  }
  std::size_t size_;
  sequence<char> all_;
};
WEFT_DECL void summarise(timing& t, double within) {
  t.median = median(t.samples), t.sure = median_interval(t.samples), t.fastest = quantile(t.samples, 0);
  t.spread = t.median > 0 ? (quantile(t.samples, 0.9) - quantile(t.samples, 0.1)) / t.median : 0;
  t.settled = t.samples.size() >= 6 && t.sure.relative_to(t.median) <= within;
}
WEFT_DECL bool all_settled(sequence<timing>& found, double within) {
  bool all = true;
  for (timing& t : found) {
    summarise(t, within);
    all = all && (t.settled || t.failed || t.gave_up);
  }
  return all;
}
}  // namespace detail

WEFT_DECL double clock_cost() {
  static double const cost = [] {
    sequence<double> gaps;
    for (int i = 0; i < 101; ++i) {
      double const start = now_ns();
      gaps.push_back(now_ns() - start);
    }
    return median(gaps);
  }();
  return cost;
}

WEFT_DECL sequence<timing> measure(sequence<timed_work> const& all, measuring const& how, rounds_watcher watcher) {
  sequence<timing> found(all.size());
  double const give_up_ns = how.give_up_ms * 1e6;
  detail::other_memory other(how.cold);
  bool ended = false;
  auto const go_on = [&](int rounds) { return !(ended = ended || (watcher.go_on != nullptr && !watcher.go_on(watcher.context, rounds))); };
  for (std::size_t i = 0; i < all.size() && go_on(0); ++i) {
    // A sample shorter than a thousand readings of the clock would be of the clock.
    double const sample_ns = how.sample_ms * 1e6, least = 1000 * clock_cost();
    detail::calibrate(found[i], all[i], sample_ns > least ? sample_ns : least, give_up_ns);
    if (how.cold) found[i].times = 1;
  }
  double const start = now_ns(), budget = how.budget_ms * 1e6 * static_cast<double>(all.size());
  int const most = how.most < 1 ? 1 : how.most, fewest = how.fewest < 1 ? 1 : how.fewest;
  int const slow_rounds = fewest < detail::fewest_rounds ? fewest : detail::fewest_rounds;
  for (int round = 0; round < most && !ended; ++round) {
    double const spent = now_ns() - start;
    if (round >= fewest && (spent > budget || detail::all_settled(found, how.within))) break;
    if (round >= slow_rounds && spent > 5 * budget) break;
    for (std::size_t n = 0; n < all.size() && go_on(round); ++n) {
      std::size_t const i = round % 2 == 0 ? n : all.size() - 1 - n;
      timing& t = found[i];
      if (t.failed || t.gave_up) continue;
      if (how.cold) other.fill_caches();
      else if (t.times > 1) t.failed = detail::timed(all[i], t.times / 8 + 1) < 0;  // its own data back into the caches
      if (!t.failed) detail::take_sample(t, all[i], give_up_ns);
    }
  }
  detail::all_settled(found, how.within);
  return found;
}

}  // namespace bench
}  // namespace weft::inline WEFT_ABI
