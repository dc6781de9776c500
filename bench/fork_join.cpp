// What an empty parallel loop costs: weft's pool against OpenMP's.
#include "fork_join.hpp"

#include <weft/weft.hpp>

#include "harness.hpp"

namespace bench {
namespace {
std::int64_t done[2 * 8];  // by iteration, a cache line each

void count_iteration(std::int64_t i) { done[8 * i] += 1; }
void count_iterations(void*, std::int64_t begin, std::int64_t end) {
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
  weft::runtime::thread_pool pool(2);
  std::vector<variant> variants;
  if (openmp_loop(1, count_iteration))
    variants.push_back({"OpenMP", [](std::int64_t times) { openmp_loop(times, count_iteration); }, 0});
  variants.push_back({"weft",
                      [&](std::int64_t times) {
                        while (times-- > 0) pool.run(2, count_iterations, nullptr);
                      },
                      0});
  for (variant const& v : variants)
    if (!counts(v)) r.wrong(v.name + " lost an iteration");
  // Workers of the one pool spin on after a sample of theirs; until they sleep the other has one processor only.
  auto const figures = measure(variants, {r.wanted.rounds, 5, 20});
  for (std::size_t i = 0; i < variants.size(); ++i) {
    row line;
    line.variant = variants[i].name, line.median = figures[i].median, line.spread = figures[i].spread;
    line.unit = "ns", line.reference = variants[0].name;
    line.ratio = variants.size() > 1 ? figures[i].ratio : 0;
    r.add(line);
  }
}

}  // namespace bench
