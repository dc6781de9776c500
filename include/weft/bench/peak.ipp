#include <time.h>

#include "weft/bench/peak.hpp"
#include "weft/kernel.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {
inline constexpr auto fma_peak_kernel = kernel<"fma_peak">(
    [](auto y, auto x) {
      return compute<"sums">(y.extent(0), [=](auto i) { return sum(200000, [=](auto) { return x * y(i); }); });
    },
    [](auto& s, auto, auto, auto stage) {
      auto const [i, k] = stage.axes();
      s.reorder(k, i);
      s.vectorize(i);
    });
}  // namespace detail

WEFT_DECL double fma_peak_gflops() {
  std::int64_t const lanes = host().vector_bytes / 4, count = 12 * lanes;
  tensor<float, 1> y(count), totals(count);
  for (std::int64_t i = 0; i < count; ++i) y(i) = 1.0f / static_cast<float>(i + 3);
  auto const probe = detail::fma_peak_kernel.prepare(y, 0.75f, out(totals));
  double best = 0;
  for (int round = 0; round < 12; ++round) {
    timespec a{}, b{};
    clock_gettime(CLOCK_MONOTONIC, &a);
    probe(y, 0.75f, out(totals));
    clock_gettime(CLOCK_MONOTONIC, &b);
    double const ns = static_cast<double>(b.tv_sec - a.tv_sec) * 1e9 + static_cast<double>(b.tv_nsec - a.tv_nsec);
    double const gflops = 2.0 * 200000.0 * static_cast<double>(count) / ns;
    if (gflops > best) best = gflops;
  }
  return best;
}

}  // namespace weft::inline WEFT_ABI
