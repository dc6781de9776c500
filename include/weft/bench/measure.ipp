#include <time.h>

#include "weft/bench/measure.hpp"
#include "weft/codegen/target.hpp"

namespace weft::inline WEFT_ABI {
namespace bench {
namespace detail {
WEFT_DECL double now_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}
WEFT_DECL double timed(timed_work const& w, std::int64_t times) {
  double const start = now_ns();
  w.run(w.context, times);
  double const ns = now_ns() - start - clock_cost();
  return ns > 0 ? ns : 0;
}
/// How often to run it for a sample. What takes much longer than one is run once.
WEFT_DECL std::int64_t calibrated(timed_work const& w, double sample_ns) {
  if (timed(w, 1) > 20 * sample_ns) return 1;
  for (std::int64_t times = 1;; times *= 2) {
    double const ns = timed(w, times);
    if (ns >= sample_ns) return times;
    // Once it can be told, straight there, with a tenth more so that no sample falls short.
    if (ns > sample_ns / 16) return static_cast<std::int64_t>(1.1 * sample_ns / ns * static_cast<double>(times)) + 1;
  }
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
    all = all && t.settled;
  }
  return all;
}
}  // namespace detail

WEFT_DECL double clock_cost() {
  static double const cost = [] {
    sequence<double> gaps;
    for (int i = 0; i < 101; ++i) {
      double const start = detail::now_ns();
      gaps.push_back(detail::now_ns() - start);
    }
    return median(gaps);
  }();
  return cost;
}

WEFT_DECL sequence<timing> measure(sequence<timed_work> const& all, measuring const& how) {
  sequence<timing> found(all.size());
  detail::other_memory other(how.cold);
  for (std::size_t i = 0; i < all.size(); ++i) {
    // A sample shorter than a thousand readings of the clock would be of the clock.
    double const sample_ns = how.sample_ms * 1e6, least = 1000 * clock_cost();
    found[i].times = detail::calibrated(all[i], sample_ns > least ? sample_ns : least);
    if (how.cold) found[i].times = 1;
  }
  double const start = detail::now_ns(), budget = how.budget_ms * 1e6 * static_cast<double>(all.size());
  for (int round = 0; round < how.most; ++round) {
    double const spent = detail::now_ns() - start;
    if (round >= how.fewest && (spent > budget || detail::all_settled(found, how.within))) break;
    if (round >= 3 && spent > 5 * budget) break;
    for (std::size_t n = 0; n < all.size(); ++n) {
      std::size_t const i = round % 2 == 0 ? n : all.size() - 1 - n;
      timing& t = found[i];
      if (how.cold) other.fill_caches();
      else if (t.times > 1) all[i].run(all[i].context, t.times / 8 + 1);  // its own data back into the caches
      t.samples.push_back(detail::timed(all[i], t.times) / static_cast<double>(t.times));
    }
  }
  detail::all_settled(found, how.within);
  return found;
}

}  // namespace bench
}  // namespace weft::inline WEFT_ABI
