#include <time.h>

#include "weft/bench/statistics.hpp"
#include "weft/tune/measure.hpp"
#include "weft/tune/model.hpp"

namespace weft::inline WEFT_ABI {
namespace tuning {

WEFT_DECL double now_ns() {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

WEFT_DECL timing time_calls(timed_calls& what, timing_settings const& how) {
  timing t;
  double const first = what.run(1);  // brings code and data near, and tells how long about
  if (first < 0) return t;
  t.ns = first, t.calls = 1;
  t.gave_up = how.give_up_ns > 0 && first > how.give_up_ns;
  if (t.gave_up) return t;
  double const calls = how.sample_ns / (first > 1 ? first : 1);
  std::int64_t count = calls < 1 ? 1 : calls > 1e6 ? 1000000 : static_cast<std::int64_t>(calls) + 1;
  sequence<double> samples;
  for (double used = 0; static_cast<int>(samples.size()) < how.most_samples;) {
    double const ns = what.run(count);
    if (ns < 0) return timing{};
    used += ns, t.calls += count;
    if (ns < how.sample_ns / 2 && count < 1000000) {  // the first call was no measure
      count = static_cast<std::int64_t>(static_cast<double>(count) * (how.sample_ns / (ns > 1 ? ns : 1))) + 1;
      if (count > 1000000) count = 1000000;
      continue;
    }
    samples.push_back(ns / static_cast<double>(count));
    t.ns = bench::quantile(samples, 0.25);
    t.spread = t.ns > 0 ? bench::quantile(samples, 0.5) / t.ns - 1 : 0;
    bool const enough = static_cast<int>(samples.size()) >= how.least_samples;
    if (enough && (t.spread <= how.steady || used >= how.most_ns)) break;
    if (used >= 4 * how.most_ns) break;  // calls of a second: fewer samples must do
  }
  return t;
}

}  // namespace tuning
}  // namespace weft::inline WEFT_ABI
