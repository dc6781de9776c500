#include <algorithm>
#include <limits>

#include "weft/bench/statistics.hpp"

namespace weft::inline WEFT_ABI {
namespace bench {

WEFT_DECL double quantile(sequence<double> values, double part) {
  if (values.empty()) return 0;
  double const at = part * static_cast<double>(values.size() - 1);
  auto const below = static_cast<std::size_t>(at);
  std::nth_element(values.begin(), values.begin() + below, values.end());
  double const low = values[below];
  if (below + 1 == values.size()) return low;
  return low + (at - static_cast<double>(below)) * (*std::min_element(values.begin() + below + 1, values.end()) - low);
}
WEFT_DECL double median(sequence<double> const& values) { return quantile(values, 0.5); }

WEFT_DECL interval median_interval(sequence<double> const& values) {
  if (values.empty()) return {};
  sequence<double> sorted = values;
  std::sort(sorted.begin(), sorted.end());
  std::size_t const n = sorted.size();
  // The median is below sample k with the probability of at most k heads among n; 2.5 % may be left out on either side.
  std::size_t out = 0;
  double term = 1, total = 0;
  for (std::size_t i = 0; i < n; ++i) term *= 0.5;  // none among n
  if (term > 0)
    for (std::size_t k = 0; 2 * k < n; ++k) {
      total += term;
      if (total > 0.025) break;
      out = k + 1;
      term *= static_cast<double>(n - k) / static_cast<double>(k + 1);
    }
  // Past 1000 samples 2^-n is no number any more: by the normal distribution, n/2 - 1.96 sqrt(n)/2.
  else
    out = static_cast<std::size_t>(0.5 * static_cast<double>(n) - 0.98 * __builtin_sqrt(static_cast<double>(n)));
  std::size_t const first = out > 0 ? out - 1 : 0;
  return {sorted[first], sorted[n - 1 - first]};
}

WEFT_DECL ratio ratio_of_medians(sequence<double> const& a, sequence<double> const& b) {
  std::size_t const n = std::min(a.size(), b.size());
  double const bottom = median(b);
  ratio r{bottom > 0 ? median(a) / bottom : 1, {0, std::numeric_limits<double>::infinity()}};
  if (n < 6 || bottom <= 0) return r;
  constexpr std::size_t draws = 2000;
  sequence<double> ratios(draws), x(n), y(n);
  std::uint64_t state = 0x9e3779b97f4a7c15u;  // always the same: equal samples give equal words
  for (double& one : ratios) {
    for (std::size_t i = 0; i < n; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      auto const at = static_cast<std::size_t>((state >> 33) * n >> 31);
      x[i] = a[at], y[i] = b[at];
    }
    one = median(x) / median(y);
  }
  r.sure = {quantile(ratios, 0.025), quantile(ratios, 0.975)};
  return r;
}

WEFT_DECL outcome judged(ratio const& r, double least) {
  if (r.sure.high < 1 - least) return outcome::faster;
  if (r.sure.low > 1 + least) return outcome::slower;
  return outcome::same;
}

}  // namespace bench
}  // namespace weft::inline WEFT_ABI
