// Searches replayed on recorded spaces. To record anew, on a machine with AVX-512:
//
//     WEFT_SPACE=short weft-tests --test-case='records the spaces' --no-skip        (without WEFT_SPACE: all)
#include "tune/recorded.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>

#include "weft/bench.hpp"
#include "weft/ir/print.hpp"

using namespace weft;
using namespace weft::tuning;
using weft_test::recorded_space;

namespace {
bool is_wanted(char const* name) {
  char const* const one = std::getenv("WEFT_SPACE");
  return one == nullptr || std::string(one) == name;
}
std::string file(char const* name) { return std::string(WEFT_TESTS_DIR) + "/tune/data/" + name + ".txt"; }

/// Measures points by the dozen: all of a dozen, and the first point of the space, in turns, and in proportion to that one, so that what slows the
/// machine for a while slows none of them alone.
class recorder {
 public:
  recorder(space& s, argument_copies& copies) : space_(s), runner_(copies, isolation::forked), first_(s.look({}).choices) {}
  struct measured {
    sequence<std::int32_t> choices;
    double share = 0;  // of the first point's time; 0: it failed
  };
  void take(std::vector<measured*> const& points, int rounds) {
    std::vector<slot> slots(points.size() + 1);
    sequence<bench::timed_work> works;
    for (std::size_t i = 0; i < slots.size(); ++i) {
      slots[i] = {this, static_cast<int>(i), load(static_cast<int>(i), i == 0 ? first_ : points[i - 1]->choices)};
      works.push_back({nullptr, &slots[i], [](void* of, std::int64_t times) { return static_cast<slot*>(of)->run(times); }});
    }
    measuring const how{.sample_ms = 0.3, .budget_ms = 1000, .within = 0, .fewest = rounds, .most = rounds};
    sequence<bench::timing> const times = bench::measure(works, how);
    double const first = bench::quantile(times[0].samples, 0.25);
    firsts.push_back(first);
    for (std::size_t i = 0; i < points.size(); ++i)
      points[i]->share = times[i + 1].failed || first <= 0 ? 0 : bench::quantile(times[i + 1].samples, 0.25) / first;
  }
  sequence<double> firsts;  // of each dozen

 private:
  struct slot {
    recorder* of = nullptr;
    int at = 0;
    bool good = false;
    double run(std::int64_t times) { return good ? of->runner_.run(at, times, 10e9) : -1; }
  };
  bool load(int at, sequence<std::int32_t> const& choices) {
    std::string why;
    ir::arena m;
    std::string const loops = ir::print(make_loops(m, space_.request(), space_.at(choices)));
    bool const good = runner_.load(at, loops, why) == tuning::outcome::good;
    if (!good) std::printf("%s\n", why.c_str());
    return good;
  }
  space& space_;
  runner runner_;
  sequence<std::int32_t> first_;
};

/// All legal points once, the fastest tenth five times more: what happened to be fast once would be the best of a table.
template <class Kernel, class... A>
void record(Kernel const& kernel, char const* name, A const&... a) {
  kernel.erased(
      [&](kernel_face const& f, argument* arguments, int count) {
        target const machine = weft_test::recorded_target();
        program const what = f.what(f.object);
        shape_outputs(what, arguments, count);
        call_layout const layout = bind(what, f.name, arguments, count);
        space s({f.name, &what, f.how, f.object, &layout, &machine, {}});
        argument_copies copies(arguments, count);
        copies.restore();
        recorder r(s, copies);
        std::vector<recorder::measured> all;
        sequence<std::int32_t> choices;
        for (bool more = true; more;) {
          point const p = s.look(choices);
          if (p.legal) all.push_back({p.choices});
          more = next_point(p, choices);
        }
        random_numbers random(1);
        for (std::size_t i = all.size(); i > 1; --i) std::swap(all[i - 1], all[static_cast<std::size_t>(random.below(static_cast<std::int32_t>(i)))]);
        double const began = bench::now_ns();
        auto const in_dozens = [&](std::size_t until, int rounds) {
          for (std::size_t i = 0; i < until; i += 12) {
            std::vector<recorder::measured*> dozen;
            for (std::size_t k = i; k < until && k < i + 12; ++k) dozen.push_back(&all[k]);
            r.take(dozen, rounds);
          }
        };
        in_dozens(all.size(), 7);
        std::vector<std::vector<double>> shares(all.size() / 10);
        auto const faster = [](auto const& x, auto const& y) { return (x.share > 0 ? x.share : 1e9) < (y.share > 0 ? y.share : 1e9); };
        std::sort(all.begin(), all.end(), faster);
        for (int again = 0; again < 5; ++again) {
          in_dozens(shares.size(), 11);
          for (std::size_t i = 0; i < shares.size(); ++i) shares[i].push_back(all[i].share);
        }
        double noise = 0;  // how far apart the five are
        for (std::size_t i = 0; i < shares.size(); ++i) {
          std::sort(shares[i].begin(), shares[i].end());
          all[i].share = shares[i][2];
          noise += (shares[i][3] / shares[i][2] - 1) / static_cast<double>(shares.size());
        }
        double const first = bench::median(r.firsts);
        std::ofstream out(file(name));
        int written = 0;
        for (recorder::measured const& p : all) {
          if (!(p.share > 0)) continue;
          for (std::size_t i = 0; i < p.choices.size(); ++i) out << (i > 0 ? "," : "") << p.choices[i];
          char ns[32];
          std::snprintf(ns, sizeof ns, " %.0f\n", p.share * first);
          out << ns, ++written;
        }
        std::printf("%s: %d points in %.0f s; the fastest, measured again, are within %.1f %% of each other\n", name, written,
                    (bench::now_ns() - began) / 1e9, 100 * noise);
      },
      a...);
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
  weft_test::recorded_inputs const in;
  in.each([&](auto const& kernel, char const* name, auto const&... a) {
    if (is_wanted(name)) record(kernel, name, a...);
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
/// For docs/tuning.md: how near the best of so many trials is to the best there is, in geometric means of 50 seeds, a line for each space and search.
TEST_CASE("prints the curves of the recorded spaces" * doctest::skip()) {
  weft_test::recorded_inputs const in;
  in.each([&](auto const& kernel, char const* name, auto const&... a) {
    if (!is_wanted(name)) return;
    recorded_space l(kernel, file(name), a...);
    double const best = weft_test::best_of(l);
    for (bool const random : {true, false}) {
      double logs[9] = {};
      for (std::uint64_t seed = 0; seed < 50; ++seed) {
        random_search r(l, seed);
        annealing_search s(l, seed);
        search& one = random ? static_cast<search&>(r) : s;
        double so_far = 0;
        int trials = 0;
        for (int power = 0; power < 9;) {
          sequence<point> const proposed = one.propose(8);
          for (point const& p : proposed) {
            double const ns = l.ns(p);
            one.learn(p, ns);
            if (so_far == 0 || ns < so_far) so_far = ns;
            if (++trials == 1 << power) logs[power++] += std::log(best / so_far);
            if (power == 9) break;
          }
          if (proposed.empty())
            for (; power < 9; ++power) logs[power] += std::log(best / so_far);
        }
      }
      std::printf("%s %s", name, random ? "random" : "annealing");
      for (double x : logs) std::printf(" %.3f", std::exp(x / 50));
      std::printf("\n");
    }
  });
}
TEST_CASE("on recorded spaces annealing needs fewer trials than random search, at most a third where random needs 60") {
  weft_test::recorded_inputs const in;
  double logs = 0, all = 0, blind = 0;
  int hard = 0, spaces = 0;
  in.each([&](auto const& kernel, char const* name, auto const&... a) {
    if (!is_wanted(name)) return;
    needed const n = replay(kernel, name, 50, a...);
    all += std::log(n.annealing / n.random), blind += std::log(n.annealing / n.blind), ++spaces;
    if (n.random < 60) return;
    logs += std::log(n.annealing / n.random), ++hard;
  });
  std::printf("geometric means: annealing over random %.2f in all %d, %.2f in the %d where random needs 60; over the model without loop programs %.2f\n",
              std::exp(all / spaces), spaces, std::exp(logs / hard), hard, std::exp(blind / spaces));
  CHECK(std::exp(all / spaces) < 1);
  CHECK(std::exp(blind / spaces) < 1);  // what loop programs tell is worth it
  CHECK(hard >= 2);
  CHECK(std::exp(logs / hard) <= 1.0 / 3);
}
