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
template <bool PastCaches>
inline constexpr auto copy_peak_kernel = kernel<"copy_peak">(
    [](auto x) { return compute<"copy">(x.extent(0), x.extent(1), [=](auto t, auto i) { return 1 * x(t, i); }); },
    [](auto& s, auto, auto copy) {
      auto const [t, i] = copy.axes();
      auto const [chunk, lane] = s.split(i, 16);
      s.parallel(t);
      s.vectorize(lane);
      if constexpr (PastCaches) s.store_non_temporal(copy);
      static_cast<void>(chunk);
    });
inline double peak_clock_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}
}  // namespace detail

WEFT_DECL double memory_peak_gbs(int threads) {
  std::int64_t const last = host().l3_bytes > 0 ? host().l3_bytes : std::int64_t(32) << 20;
  std::int64_t const each = 4 * last / 4 / threads / 1024 * 1024;
  tensor<float, 2> x(threads, each), y(threads, each);
  double best = 0;
  auto const rounds = [&](auto const& copy) {
    for (int round = 0; round < 8; ++round) {
      double const start = detail::peak_clock_ns();
      copy(x, out(y));
      double const gbs = 8.0 * static_cast<double>(threads * each) / (detail::peak_clock_ns() - start);
      if (round > 0 && gbs > best) best = gbs;  // in the first, pages are not there yet
    }
  };
  rounds(detail::copy_peak_kernel<false>.prepare(x, out(y)));
  rounds(detail::copy_peak_kernel<true>.prepare(x, out(y)));
  return best;
}

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

WEFT_DECL bench::machine_peaks bench::peaks_of(int threads) {
  static double const of_one = fma_peak_gflops();
  static constinit double gbs[256] = {};  // two threads that ask at once both measure
  if (threads >= 256) return {of_one * threads, memory_peak_gbs(threads)};
  double& known = gbs[threads];
  double here = 0;
  __atomic_load(&known, &here, __ATOMIC_RELAXED);
  if (here <= 0) here = memory_peak_gbs(threads), __atomic_store(&known, &here, __ATOMIC_RELAXED);
  return {of_one * threads, here};
}

}  // namespace weft::inline WEFT_ABI
