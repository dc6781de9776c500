// What an empty parallel loop costs: weft's pool against those of libgomp and oneTBB, with one thread and with two.
#include "fork_join.hpp"

#include <weft/weft.hpp>

#include "harness.hpp"

namespace bench {
namespace {
std::int64_t done[2 * 8];  // by iteration, a cache line each

void count_iteration(std::int64_t i) { done[8 * i] += 1; }
void count_iterations(void*, std::int64_t begin, std::int64_t end, std::int64_t) {
  for (std::int64_t i = begin; i < end; ++i) count_iteration(i);
}
bool counts(variant const& v) {
  done[0] = done[8] = 0;
  v.run(1000);
  return done[0] == 1000 && done[8] == 1000;
}
}  // namespace

void fork_join(report& r) {
  if (weft::host().threads < 2) return r.skip("needs two processors");
  if (!openmp_loop(1, 1, count_iteration)) r.skip("OpenMP: not there when this was configured (apt-get install libgomp1)");
  if (!tbb_loop(1, 1, count_iteration)) r.skip("oneTBB: not there when this was configured (apt-get install libtbb-dev)");
  for (int const threads : {1, 2}) {
    weft::runtime::thread_pool pool(threads);
    std::vector<variant> variants;
    char const* const with = threads == 1 ? ", 1 thread" : ", 2 threads";
    if (openmp_loop(1, threads, count_iteration))
      variants.push_back({std::string("OpenMP") + with, [=](std::int64_t times) { openmp_loop(times, threads, count_iteration); }, 0});
    if (tbb_loop(1, threads, count_iteration))
      variants.push_back({std::string("oneTBB") + with, [=](std::int64_t times) { tbb_loop(times, threads, count_iteration); }, 0});
    variants.push_back({std::string("weft") + with,
                        [&](std::int64_t times) {
                          while (times-- > 0) pool.run(2, count_iterations, nullptr);
                        },
                        0});
    for (variant const& v : variants)
      if (!counts(v)) r.wrong(v.name + " lost an iteration");
    // Workers of the one pool spin on after a sample of theirs; until they sleep the others have one processor only.
    auto const samples = sample(variants, {r.wanted.rounds, 5, 20});
    std::size_t const own = variants.size() - 1;
    std::size_t best = 0;
    for (std::size_t i = 1; i < own; ++i)
      if (median(samples[i]) < median(samples[best])) best = i;
    for (std::size_t i = 0; i < variants.size(); ++i) {
      row line;
      line.variant = variants[i].name, line.median = median(samples[i]), line.spread = spread(samples[i]), line.unit = "ns";
      if (own > 0) {
        std::vector<double> ratios;
        for (std::size_t n = 0; n < samples[i].size(); ++n) ratios.push_back(samples[best][n] / samples[i][n]);
        line.ratio = median(ratios), line.reference = variants[best].name;
        if (i == own) demand_at_least(line, line.ratio, 1, "x");
      }
      r.add(line);
    }
  }
}

}  // namespace bench
