// How long a call takes: repeated until the answer is steady. The one place in which the tuner times.
#pragma once

#include <cstdint>

#include "weft/base/sequence.hpp"

namespace weft::inline WEFT_ABI {
namespace tuning {

/// What is timed: in this process or in another one.
class timed_calls {
 public:
  virtual ~timed_calls() = default;
  /// Calls it so often and answers the nanoseconds that all of it took; negative: it failed.
  virtual double run(std::int64_t calls) = 0;
};

/// When to stop.
struct timing_settings {
  double sample_ns = 300000;   // calls are repeated until one sample takes as long: clocks and timers do not count then
  int least_samples = 5, most_samples = 31;
  double steady = 0.02;        // half of the samples' middle half, over their median
  double most_ns = 200e6;      // of all samples
  double give_up_ns = 0;       // a first call that takes longer is the answer; 0: never
};

/// What came of it.
struct timing {
  double ns = 0;      // of a call: the first quartile of the samples; 0: it failed
  double spread = 0;  // between the first quartile and the median, as a share
  std::int64_t calls = 0;
  bool gave_up = false;
};

/// Times `what`; one call more than it counts.
///
/// The first quartile, since what disturbs a measurement only ever makes it longer: the mean follows the disturbance, and the
/// minimum is of a few samples an outlier of its own (a turbo clock, memory that happened to lie well).
timing time_calls(timed_calls& what, timing_settings const& how = {});

/// Nanoseconds of a clock that only goes forward.
double now_ns();

}  // namespace tuning
}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/tune/measure.ipp"
#endif
