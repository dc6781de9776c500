#include "limits.hpp"

#include <weft/bench/peak.hpp>
#include <weft/codegen/target.hpp>
#include <weft/runtime/thread_pool.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "../harness.hpp"

namespace bench::peers {
namespace {
/// Calls f(0), f(1), .. at the same time.
template <class F>
void on_threads(int threads, F const& f) {
  auto const body = [](void* context, std::int64_t begin, std::int64_t end, std::int64_t) {
    for (; begin < end; ++begin) (*static_cast<F const*>(context))(begin);
  };
  weft::runtime::default_pool().run(threads, body, const_cast<F*>(&f), threads);
}
double measured_peak(arithmetic a, int threads) {
  std::vector<double> each(static_cast<std::size_t>(threads));
  bool const tiles = weft::host().has("amx-tile");  // for which Linux has been asked then
  on_threads(threads, [&](std::int64_t i) {
    each[static_cast<std::size_t>(i)] =
        a == arithmetic::f32    ? weft::fma_peak_gflops()
        : a == arithmetic::bf16 ? std::max(bf16_gflops(), tiles ? tiles_bf16_gflops() : 0)
                                : std::max(u8s8_gops(), tiles ? tiles_u8s8_gops() : 0);
  });
  double all = 0;
  for (double const one : each) all += one;
  return all;
}
/// GB/s of the fastest of several samples of `pass`, which moves `bytes`.
template <class Pass>
double fastest(double bytes, Pass const& pass) {
  pass();
  double best = 0;
  for (int round = 0; round < 7; ++round) {
    double const start = now_ns();
    std::int64_t times = 0;
    do pass(), ++times;
    while (now_ns() - start < 4e6);
    best = std::max(best, bytes * static_cast<double>(times) / (now_ns() - start));
  }
  return best;
}
bandwidth measured_bandwidth(std::int64_t bytes, int threads) {
  std::int64_t const each = std::max<std::int64_t>(bytes / 4 / threads / 128 * 128, 128), half = each / 2;
  std::vector<std::unique_ptr<buffer>> memory;
  for (int t = 0; t < threads; ++t) {
    memory.push_back(std::make_unique<buffer>(static_cast<std::size_t>(each), 0));
    memory.back()->randomize(1);
  }
  auto const data = [&](std::int64_t t) { return memory[static_cast<std::size_t>(t)]->data(); };
  double const moved = 4.0 * static_cast<double>(each * threads);
  float volatile kept = 0;
  bandwidth b;
  b.read = fastest(moved, [&] { on_threads(threads, [&](std::int64_t t) { kept = read_loop(data(t), each); }); });
  b.read_asked = fastest(moved, [&] { on_threads(threads, [&](std::int64_t t) { kept = read_asked_loop(data(t), each); }); });
  b.copy = fastest(moved, [&] { on_threads(threads, [&](std::int64_t t) { copy_loop(data(t) + half, data(t), half); }); });
  b.copy_past_cache =
      fastest(moved, [&] { on_threads(threads, [&](std::int64_t t) { copy_past_cache_loop(data(t) + half, data(t), half); }); });
  b.copy_asked = fastest(moved, [&] { on_threads(threads, [&](std::int64_t t) { copy_asked_loop(data(t) + half, data(t), half); }); });
  return b;
}
}  // namespace

double peak(arithmetic a, int threads) {
  static std::map<std::pair<arithmetic, int>, double> known;
  auto const [at, is_new] = known.try_emplace({a, threads});
  if (is_new) at->second = measured_peak(a, threads);
  return at->second;
}
bandwidth bandwidth_at(std::int64_t bytes, int threads) {
  // Past 256 MiB nothing is left of it in a cache from one pass to the next.
  std::int64_t const size = std::min(bytes, std::int64_t(256) << 20);
  static std::map<std::pair<std::int64_t, int>, bandwidth> known;
  auto const [at, is_new] = known.try_emplace({size, threads});
  if (is_new) at->second = measured_bandwidth(size, threads);
  return at->second;
}

}  // namespace bench::peers
