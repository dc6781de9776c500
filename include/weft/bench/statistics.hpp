// What can be said of samples of a time: estimates that a few samples far off do not move, and how sure they are.
//
// Times have a long tail above (another program ran, a page was not there) and a hard end below. A mean goes with the tail; the
// fastest sample is of a state of caches and clocks that users seldom meet, and says nothing of its own error. So: medians, and
// intervals that assume no distribution.
#pragma once

#include <cstdint>

#include "weft/base/sequence.hpp"
#include "weft/config.hpp"

namespace weft::inline WEFT_ABI {
namespace bench {

/// From `low` to `high`.
struct interval {
  double low = 0, high = 0;
  /// Half its width, over `middle`.
  double relative_to(double middle) const { return middle != 0 ? (high - low) / (2 * middle) : 0; }
};

/// The value below which `part` of the samples lie, 0 to 1; between two of them in proportion. Of none: 0.
double quantile(sequence<double> values, double part);
/// quantile(values, 0.5)
double median(sequence<double> const& values);

/// Where the median of what the samples were drawn from lies, 95 % sure, whatever its distribution: between two of the samples,
/// by how often a fair coin falls to either side.
///
/// Needs   independent samples; of fewer than 6 it is from the least to the largest, and less sure
/// Source  Hahn, Meeker: Statistical Intervals, 1991, section 5.2 (order statistics and the binomial distribution)
interval median_interval(sequence<double> const& values);

/// median(a) / median(b) with an interval that is 95 % sure. Sample i of both was taken in round i, side by side: rounds are
/// drawn again with replacement, both samples of each, so what slowed down a whole round is not taken for a difference.
///
/// Needs   as many of the one as of the other; below 6 the interval is the whole line, 0 to infinity
/// Cost    2000 times both medians: 3 ms for 51 rounds
/// Source  Efron: Bootstrap Methods: Another Look at the Jackknife, Annals of Statistics 7, 1979 (percentiles)
struct ratio {
  double value = 1;
  interval sure;
};
/// As above.
ratio ratio_of_medians(sequence<double> const& a, sequence<double> const& b);

/// What a comparison may say.
enum class outcome : std::uint8_t { same, faster, slower };
/// Of something whose time is `b`'s `r` times: faster or slower when the interval lies beyond `least` on that side, else the same as
/// far as could be seen.
outcome judged(ratio const& r, double least = 0.01);

}  // namespace bench
}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/bench/statistics.ipp"
#endif
