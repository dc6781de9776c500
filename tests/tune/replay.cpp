// Searches replayed on recorded spaces. To record anew, on a quiet machine with AVX-512:
//
//     WEFT_RECORD=short weft-tests --test-case='records the spaces' --no-skip        (without WEFT_RECORD: all)
#include "tune/recorded.hpp"

#include <doctest/doctest.h>

#include <cstdlib>

using namespace weft;
using namespace weft::tuning;
using weft_test::recorded_space;

namespace {
std::string file(char const* name) { return std::string(WEFT_TESTS_DIR) + "/tune/data/" + name + ".txt"; }

template <class Kernel, class... A>
void record(Kernel const& kernel, char const* name, A const&... a) {
  tune_options o;
  o.trials = 100000, o.batch = 64;
  o.seconds = std::getenv("WEFT_RECORD") != nullptr ? 27 : 900;  // of others who wait meanwhile: half a minute
  o.random = true, o.keep = false;
  o.worker = isolation::forked;
  tune_result const r = tune(kernel, o, a...);
  std::ofstream out(file(name));
  for (tune_trial const& t : r.trials) {
    if (t.ns <= 0) continue;
    for (std::size_t i = 0; i < t.choices.size(); ++i) out << (i > 0 ? "," : "") << t.choices[i];
    char ns[32];
    std::snprintf(ns, sizeof ns, " %.0f\n", t.ns);
    out << ns;
  }
  std::printf("%s", r.text().c_str());
}

/// Geometric means of the trials that both searches need for 95 % of the best, over `seeds`.
struct needed {
  double random = 0, annealing = 0, blind = 0;  // blind: without the loop programs
};
template <class Kernel, class... A>
needed replay(Kernel const& kernel, char const* name, int seeds, A const&... a) {
  recorded_space l(kernel, file(name), a...);
  CHECK(l.measured > 100);
  double const best = weft_test::best_of(l);
  needed n;
  for (int seed = 0; seed < seeds; ++seed) {
    random_search r(l, static_cast<std::uint64_t>(seed));
    annealing_search s(l, static_cast<std::uint64_t>(seed));
    n.random += std::log(weft_test::trials_until_good(r, l, best, 2000, 8));
    n.annealing += std::log(weft_test::trials_until_good(s, l, best, 2000, 8));
    l.describes = false;
    annealing_search without(l, static_cast<std::uint64_t>(seed));
    n.blind += std::log(weft_test::trials_until_good(without, l, best, 2000, 8));
    l.describes = true;
  }
  n.random = std::exp(n.random / seeds), n.annealing = std::exp(n.annealing / seeds), n.blind = std::exp(n.blind / seeds);
  std::printf("%-8s %4d points measured, 95 %% of the best after: random %.1f, annealing %.1f trials, %.1f without loop programs\n",
              name, l.measured, n.random, n.annealing, n.blind);
  return n;
}
}  // namespace

TEST_CASE("records the spaces" * doctest::skip()) {
  char const* const one = std::getenv("WEFT_RECORD");
  weft_test::recorded_inputs const in;
  in.each([&](auto const& kernel, char const* name, auto const&... a) {
    if (one == nullptr || std::string(one) == name) record(kernel, name, a...);
  });
}
/// For tests/tune/xgboost_compare.py: of each space the features, and what our model expects after 16 and after 64 measurements.
TEST_CASE("writes what models are compared on" * doctest::skip()) {
  char const* const folder = std::getenv("WEFT_COMPARE");
  REQUIRE(folder != nullptr);
  weft_test::recorded_inputs const in;
  in.each([&](auto const& kernel, char const* name, auto const&... a) {
    recorded_space l(kernel, file(name), a...);
    sequence<float> rows;
    sequence<double> costs;
    std::size_t width = 0;
    std::ofstream table(std::string(folder) + "/" + name + ".rows");
    l.each_measured([&](point const& p, sequence<float> const& more, double ns) {
      width = p.features.size() + more.size();
      costs.push_back(std::log(ns));
      table << costs.back();
      for (sequence<float> const* part : {&p.features, &more})
        for (float f : *part) rows.push_back(f), table << ' ' << f;
      table << '\n';
    });
    std::ofstream own(std::string(folder) + "/" + name + ".own");
    for (std::size_t count : {std::size_t{16}, std::size_t{64}})
      for (std::uint64_t seed = 0; seed < 20; ++seed) {
        random_numbers random(seed);
        sequence<std::size_t> order;
        for (std::size_t i = 0; i < costs.size(); ++i) order.push_back(i);
        for (std::size_t i = 0; i < count; ++i) {
          std::size_t const other = i + static_cast<std::size_t>(random.below(static_cast<std::int32_t>(order.size() - i)));
          std::size_t const kept = order[i];
          order[i] = order[other], order[other] = kept;
        }
        sequence<float> seen;
        sequence<double> of_seen;
        own << count;
        for (std::size_t i = 0; i < count; ++i) {
          for (std::size_t f = 0; f < width; ++f) seen.push_back(rows[order[i] * width + f]);
          of_seen.push_back(costs[order[i]]);
          own << ' ' << order[i];
        }
        boosted_trees m;
        m.fit(seen.data(), width, of_seen.data(), count);
        for (std::size_t i = 0; i < costs.size(); ++i) own << ' ' << m.predict(&rows[i * width]);
        own << '\n';
      }
  });
}
TEST_CASE("on recorded spaces annealing needs fewer trials than random search, at most a third where random needs 60") {
  weft_test::recorded_inputs const in;
  double logs = 0, all = 0, blind = 0;
  int hard = 0, spaces = 0;
  in.each([&](auto const& kernel, char const* name, auto const&... a) {
    needed const n = replay(kernel, name, 50, a...);
    all += std::log(n.annealing / n.random), blind += std::log(n.annealing / n.blind), ++spaces;
    if (n.random < 60) return;
    logs += std::log(n.annealing / n.random), ++hard;
  });
  CHECK(std::exp(all / spaces) < 1);
  CHECK(std::exp(blind / spaces) < 1);  // what loop programs tell is worth it
  CHECK(hard > 0);
  CHECK(std::exp(logs / hard) <= 1.0 / 3);
}
