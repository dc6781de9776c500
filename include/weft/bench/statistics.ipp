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

namespace detail {
/// Draws from the first `n` samples, some of them several times. Samples are sorted once, and how often each was drawn is counted.
class drawn_samples {
 public:
  drawn_samples(sequence<double> const& samples, std::size_t n) : sorted_(n), place_(n), drawn_(n, 0) {
    sequence<std::size_t> order(n);
    for (std::size_t i = 0; i < n; ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) { return samples[i] < samples[j]; });
    for (std::size_t i = 0; i < n; ++i) sorted_[i] = samples[order[i]], place_[order[i]] = i;
  }
  void draw(std::size_t sample) { ++drawn_[place_[sample]]; }
  /// Of as many as there are samples; none are drawn then.
  double take_median() {
    std::size_t const n = sorted_.size(), below = (n - 1) / 2;
    std::size_t i = 0, so_far = drawn_[0];
    while (so_far <= below) so_far += drawn_[++i];
    double const low = sorted_[i];
    if (n % 2 == 0 && so_far == below + 1)
      while (drawn_[++i] == 0) {}
    double const high = sorted_[i];
    for (std::size_t& count : drawn_) count = 0;
    return n % 2 == 0 ? low + 0.5 * (high - low) : low;
  }

 private:
  sequence<double> sorted_;
  sequence<std::size_t> place_, drawn_;
};
}  // namespace detail

WEFT_DECL ratio ratio_of_medians(sequence<double> const& a, sequence<double> const& b) {
  std::size_t const n = std::min(a.size(), b.size());
  double const bottom = median(b);
  ratio r{bottom > 0 ? median(a) / bottom : 1, {0, std::numeric_limits<double>::infinity()}};
  if (n < 6 || bottom <= 0) return r;
  constexpr std::size_t draws = 2000;
  detail::drawn_samples x(a, n), y(b, n);
  sequence<double> ratios(draws);
  std::uint64_t state = 0x9e3779b97f4a7c15u;  // always the same: equal samples give equal words
  for (double& one : ratios) {
    for (std::size_t i = 0; i < n; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      auto const at = static_cast<std::size_t>((state >> 33) * n >> 31);
      x.draw(at), y.draw(at);
    }
    one = x.take_median() / y.take_median();
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
