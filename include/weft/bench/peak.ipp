#include <time.h>
#include <unistd.h>

#include "weft/bench/kept_peaks.hpp"
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
inline double copy_peak_gbs(int threads, std::int64_t bytes) {
  std::int64_t const each = bytes / 4 / threads / 1024 * 1024 + 1024;
  tensor<float, 2> x(threads, each), y(threads, each);
  double best = 0;
  auto const rounds = [&](auto const& copy) {
    double const begin = peak_clock_ns();
    for (int round = 0; round < 8 && (round < 3 || peak_clock_ns() - begin < 0.2e9); ++round) {
      double const start = peak_clock_ns();
      copy(x, out(y));
      double const gbs = 8.0 * static_cast<double>(threads * each) / (peak_clock_ns() - start);
      if (round > 0 && gbs > best) best = gbs;  // in the first, pages are not there yet
    }
  };
  rounds(copy_peak_kernel<false>.prepare(x, out(y)));
  rounds(copy_peak_kernel<true>.prepare(x, out(y)));
  return best;
}
}  // namespace detail

WEFT_DECL std::int64_t bench::bytes_beyond_caches() {
  std::int64_t const last = host().l3_bytes > 0 ? host().l3_bytes : std::int64_t(32) << 20, free = std::int64_t(sysconf(_SC_AVPHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  std::int64_t bytes = std::int64_t(256) << 20;
  if (4 * last < bytes) bytes = 4 * last;
  if (free > 0 && free / 8 < bytes) bytes = free / 8;
  constexpr std::int64_t least = std::int64_t(8) << 20;
  return bytes > least ? bytes : least;
}
WEFT_DECL double memory_peak_gbs(int threads) {
  std::int64_t bytes = bench::bytes_beyond_caches();
#if WEFT_HAS_EXCEPTIONS
  for (; bytes >= std::int64_t(2) << 20; bytes /= 2) try {
      return detail::copy_peak_gbs(threads, bytes);
    } catch (device_error const&) {  // a limit on memory: of less, then
    }
#endif
  return detail::copy_peak_gbs(threads, bytes);
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

namespace bench::detail {
/// What this process knows of the machine; 0: nothing yet. Two threads that ask at once both measure.
struct known_peaks {
  double of_one = 0, gbs[256] = {};
};
inline constinit known_peaks known{};
inline double known_peak(double const& of) {
  double here = 0;
  __atomic_load(&of, &here, __ATOMIC_RELAXED);
  return here;
}
inline void note_peak(double& of, double found) {
  if (found > known_peak(of)) __atomic_store(&of, &found, __ATOMIC_RELAXED);
}
inline machine_peaks looked_up(int threads, bool again) {
  double nowhere = 0;
  double& gbs = threads < 256 ? known.gbs[threads] : nowhere;
  if (!again && (known_peak(known.of_one) <= 0 || known_peak(gbs) <= 0)) {
    peak_table kept;
    if (find_peaks(peaks_key(), kept)) note_peak(known.of_one, kept.gflops), note_peak(gbs, kept.gbs_of(threads));
  }
  peak_table found;
  if (again || known_peak(known.of_one) <= 0) found.gflops = fma_peak_gflops(), note_peak(known.of_one, found.gflops);
  if (again || known_peak(gbs) <= 0) found.threads.push_back(threads), found.gbs.push_back(memory_peak_gbs(threads)), note_peak(gbs, found.gbs[0]);
  if (found.gflops > 0 || !found.gbs.empty()) static_cast<void>(keep_peaks(peaks_key(), found));
  return {known_peak(known.of_one) * threads, known_peak(gbs)};
}
}  // namespace bench::detail

WEFT_DECL bench::machine_peaks bench::peaks_of(int threads) { return detail::looked_up(threads, false); }
WEFT_DECL bench::machine_peaks bench::peaks_measured_again(int threads) { return detail::looked_up(threads, true); }
WEFT_DECL bench::machine_peaks bench::peaks_beside(int threads, double f32_operations, double bytes, double ns) {
  machine_peaks const p = peaks_of(threads);
  bool const from_memory = bytes > 4 * static_cast<double>(host().l3_bytes);
  bool const more = f32_operations > 1.01 * p.gflops * ns || (from_memory && bytes > 1.01 * p.gbs * ns);
  return ns > 0 && more ? peaks_measured_again(threads) : p;
}

}  // namespace weft::inline WEFT_ABI
