// Takes samples of how long things take: warmed up, of a size that the clock can tell, in turns, until they are sure enough.
#pragma once

#include <cstdint>

#include "weft/base/sequence.hpp"
#include "weft/bench/statistics.hpp"
#include "weft/config.hpp"

namespace weft::inline WEFT_ABI {

/// How times are taken: `weft::benchmark({.cold = true}, kernel, arguments...)`.
struct measuring {
  double sample_ms = 1;   // a sample repeats the work until it takes so long
  double budget_ms = 500;  // for each of the things compared; what is slow takes longer, see bench::measure
  double within = 0.01;   // done when each median is sure to this part of itself, half the width of its interval
  int fewest = 11, most = 201;  // samples of each; of what is slow 6 may be the fewest, see bench::measure
  bool cold = false;      // caches are filled with something else before each run, which is then a sample by itself; of CPUs alone
  double give_up_ms = 0;  // work is measured no further whose first run takes longer by a sample, or whose first three samples take half as long; 0: never
};

namespace bench {

/// Something to be timed: `run(context, n)` does the work n times.
struct timed_work {
  void (*run)(void* context, std::int64_t times) = nullptr;
  void* context = nullptr;
  /// In the place of `run`, of work in another process: the nanoseconds that it took there; negative: it failed, and is not asked again.
  double (*own_clock)(void* context, std::int64_t times) = nullptr;
};
/// What was found of one. Units: ns for the work done once.
struct timing {
  double median = 0;
  interval sure;        // of the median, 95 %
  double fastest = 0;
  double spread = 0;    // from a tenth of the samples to nine tenths, over the median
  std::int64_t times = 1;  // in a sample
  bool settled = false;    // `measuring::within` was reached
  bool failed = false;     // it said so
  bool gave_up = false;    // by `measuring::give_up_ms`
  sequence<double> samples;  // in the order of the rounds
};

namespace detail {
/// So many rounds there are however slow the work is: of fewer samples there is no interval of a ratio (ratio_of_medians), and nothing is told apart.
inline constexpr int fewest_rounds = 6;
}
/// Asked before each sample, with how many rounds are over; false: it ends, with the samples that there are.
struct rounds_watcher {
  void* context = nullptr;
  bool (*go_on)(void* context, int rounds) = nullptr;
};

/// Of a clock that only goes forward.
double now_ns();
/// One clock reading behind another: what a sample takes longer than the work. Measured once in a process. Units ns
double clock_cost();

/// Times all of them in turns: a round takes a sample of each, every second round in reverse order, so that a slow minute of
/// the machine meets all alike.
///
/// Work that failed, or was given up, is left out of the rounds that follow; what it took so far is its answer.
///
/// Rounds    `fewest` at least, then on until all is settled, or until budget_ms for each is spent; `most` at most. When five times that is spent it ends before `fewest`, but
///           never before 6 rounds (where `fewest` or `most` is less, before so many): what differs as 1 to 3 is then found to, however slow
/// Cost      budget_ms for each; where `fewest` samples take longer, up to five times that, or 7 runs of each if these take longer still: one to find out how
///           long it is, and 6 rounds. With budget_ms = 500, of calls of 60 and 180 ms 2.9 s (11 rounds), of calls of 10 s 70 s for each. `give_up_ms` bounds that
sequence<timing> measure(sequence<timed_work> const& all, measuring const& how = {}, rounds_watcher watcher = {});

}  // namespace bench
}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/bench/measure.ipp"
#endif
