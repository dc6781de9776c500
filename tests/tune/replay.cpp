// Searches replayed on recorded spaces. To record anew, on a machine with AVX-512:
//
//     WEFT_SPACE=short weft-tests --test-case='records the spaces' --no-skip        (without WEFT_SPACE: all)
//
// With WEFT_SECONDS=20 it ends after so many, and goes on where it was when it is called again.
#include "support/sanitized.hpp"
#include "tune/recorded.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>

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
  /// Of each point what it takes over the first one, 0: it failed; and what that takes, in ns.
  std::vector<double> take(std::vector<point> const& points, int rounds, double& first_ns) {
    std::vector<slot> slots(points.size() + 1);
    sequence<bench::timed_work> works;
    for (std::size_t i = 0; i < slots.size(); ++i) {
      slots[i] = {this, static_cast<int>(i), load(static_cast<int>(i), i == 0 ? first_ : points[i - 1].choices)};
      works.push_back({nullptr, &slots[i], [](void* of, std::int64_t times) { return static_cast<slot*>(of)->run(times); }});
    }
    measuring const how{.sample_ms = 0.3, .budget_ms = 1000, .within = 0, .fewest = rounds, .most = rounds};
    sequence<bench::timing> const times = bench::measure(works, how);
    first_ns = bench::quantile(times[0].samples, 0.25);
    std::vector<double> shares;
    for (std::size_t i = 0; i < points.size(); ++i)
      shares.push_back(times[i + 1].failed || first_ns <= 0 ? 0 : bench::quantile(times[i + 1].samples, 0.25) / first_ns);
    return shares;
  }

 private:
  struct slot {
    recorder* of = nullptr;
    int at = 0;
    bool good = false;
    double run(std::int64_t times) { return good ? of->runner_.run(at, times, 10e9, tuning::surroundings::open) : -1; }
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

/// All legal points once, the fastest twentieth five times more: what happened to be fast once would be the best of a table.
class recording {
 public:
  recording(space& s, argument_copies& copies, std::string const& path) : recorder_(s, copies), path_(path) {
    sequence<std::int32_t> choices;
    for (bool more = true; more;) {
      point const p = s.look(choices);
      if (p.legal) points_.push_back(p);
      more = next_point(p, choices);
    }
    random_numbers random(1);
    for (std::size_t i = points_.size(); i > 1; --i) std::swap(points_[i - 1], points_[static_cast<std::size_t>(random.below(static_cast<std::int32_t>(i)))]);
    for (auto& one : shares_) one.assign(points_.size(), -1);
    if (char const* const seconds = std::getenv("WEFT_SECONDS")) ends_ = bench::now_ns() + 1e9 * std::atof(seconds);
    std::ifstream before(path_ + ".part");
    std::size_t round = 0, at = 0;
    for (double share = 0, first = 0; before >> round >> at >> share >> first;) shares_[round][at] = share, firsts_.push_back(first);
  }
  void take(char const* name) {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < points_.size(); ++i) order.push_back(i);
    bool whole = in_dozens(0, order, 7);
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return (shares_[0][a] > 0 ? shares_[0][a] : 1e9) < (shares_[0][b] > 0 ? shares_[0][b] : 1e9);
    });
    std::size_t const fastest = order.size() / 20;
    for (std::size_t round = 1; round < shares_.size() && whole; ++round) whole = in_dozens(round, {order.begin(), order.begin() + static_cast<std::ptrdiff_t>(fastest)}, 11);
    if (!whole) {
      std::printf("%s: to be continued\n", name);
      return;
    }
    double noise = 0;  // how far apart the five are
    for (std::size_t i = 0; i < fastest; ++i) {
      std::array<double, 5> five;
      for (std::size_t k = 0; k < 5; ++k) five[k] = shares_[k + 1][order[i]];
      std::sort(five.begin(), five.end());
      shares_[0][order[i]] = five[2];
      noise += (five[3] / five[2] - 1) / static_cast<double>(fastest);
    }
    double const first = bench::median(firsts_);
    std::ofstream out(path_);
    int written = 0;
    for (std::size_t const at : order) {
      if (!(shares_[0][at] > 0)) continue;
      sequence<std::int32_t> const& choices = points_[at].choices;
      for (std::size_t i = 0; i < choices.size(); ++i) out << (i > 0 ? "," : "") << choices[i];
      char ns[32];
      std::snprintf(ns, sizeof ns, " %.0f\n", shares_[0][at] * first);
      out << ns, ++written;
    }
    std::remove((path_ + ".part").c_str());
    std::printf("%s: %d points; the fastest, measured again, are within %.1f %% of each other\n", name, written, 100 * noise);
  }

 private:
  /// False: the time was up before all of these points were measured.
  bool in_dozens(std::size_t round, std::vector<std::size_t> const& which, int samples) {
    std::ofstream log(path_ + ".part", std::ios::app);
    std::vector<std::size_t> open;
    for (std::size_t const at : which)
      if (shares_[round][at] < 0) open.push_back(at);
    for (std::size_t i = 0; i < open.size(); i += 12) {
      if (bench::now_ns() > ends_) return false;
      std::vector<point> dozen;
      for (std::size_t k = i; k < open.size() && k < i + 12; ++k) dozen.push_back(points_[open[k]]);
      double first = 0;
      std::vector<double> const found = recorder_.take(dozen, samples, first);
      firsts_.push_back(first);
      for (std::size_t k = 0; k < found.size(); ++k) {
        shares_[round][open[i + k]] = found[k];
        log << round << ' ' << open[i + k] << ' ' << found[k] << ' ' << first << '\n';
      }
      log.flush();
    }
    return true;
  }
  recorder recorder_;
  std::string path_;
  std::vector<point> points_;
  std::array<std::vector<double>, 6> shares_;  // of each round, by point; less than 0: not yet
  sequence<double> firsts_;
  double ends_ = 1e300;
};
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
        recording(s, copies, file(name)).take(name);
      },
      a...);
}

/// Trials for 95 % of the best, as geometric means.
template <class Search, class... Settings>
double needed(recorded_space& l, int seeds, Settings const&... how) {
  double const best = weft_test::best_of(l);
  double logs = 0;
  for (int seed = 0; seed < seeds; ++seed) {
    Search s(l, static_cast<std::uint64_t>(seed), how...);
    logs += std::log(weft_test::trials_until_good(s, l, best, 2000, 8));
  }
  return std::exp(logs / seeds);
}
struct named_space {
  char const* name;
  std::unique_ptr<recorded_space> points;
};
std::vector<named_space> all_spaces() {
  std::vector<named_space> all;
  weft_test::recorded_inputs const in;
  in.each([&](auto const& kernel, char const* name, auto const&... a) {
    if (is_wanted(name)) all.push_back({name, std::make_unique<recorded_space>(kernel, file(name), a...)});
  });
  return all;
}
/// So many trials of each space at random, as a tuner keeps them.
std::vector<sequence<example>> examples_of(std::vector<named_space> const& spaces, int each, std::uint64_t seed = 1) {
  std::vector<sequence<example>> all;
  for (named_space const& s : spaces) {
    random_search some(*s.points, seed);
    annealing_search describes(*s.points, seed);
    all.emplace_back();
    for (point const& p : some.propose(static_cast<std::size_t>(each))) {
      example e;
      if (!describes.describe(p, e)) continue;
      e.task = all.size(), e.ns = s.points->ns(p);
      all.back().push_back(e);
    }
  }
  return all;
}
other_tasks learned_without(std::vector<sequence<example>> const& all, std::size_t left_out) {
  sequence<example> rest;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (i != left_out)
      for (example const& e : all[i]) rest.push_back(e);
  other_tasks others;
  others.fit(rest);
  return others;
}
}  // namespace

TEST_CASE("records the spaces" * doctest::skip()) {
  weft_test::recorded_inputs const in;
  in.each([&](auto const& kernel, char const* name, auto const&... a) {
    if (is_wanted(name)) record(kernel, name, a...);
  });
}
/// For bench/model_peers.py: of each space the features, and what our model expects after 16 and after 64 measurements.
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
/// For docs/tuning.md: its table, and below how near the best of so many trials is to the best there is, all in geometric means of 50 seeds.
TEST_CASE("prints the table of the recorded spaces" * doctest::skip()) {
  weft_test::recorded_inputs const in;
  in.each([&](auto const& kernel, char const* name, auto const&... a) {
    if (!is_wanted(name)) return;
    recorded_space l(kernel, file(name), a...);
    double const best = weft_test::best_of(l);
    int good = 0;
    l.each_measured([&](point const&, sequence<float> const&, double ns) { good += ns * 0.95 <= best; });
    double const random = needed<random_search>(l, 50), annealing = needed<annealing_search>(l, 50);
    l.describes = false;
    double const blind = needed<annealing_search>(l, 50);
    std::printf("| %s | %d | %d | %.1f | %.1f | %.1f | %.2f |\n", name, l.measured, l.measured / good, random, blind, annealing, annealing / random);
  });
}
/// As a search around a rule is: a walk on the knobs' values, and looks at its best.
TEST_CASE("prints trials in the recorded spaces where a look is dear" * doctest::skip()) {
  double logs = 0, all_logs = 0;
  std::vector<named_space> const spaces = all_spaces();
  char const* const wanted = std::getenv("WEFT_SEEDS");
  int const seeds = wanted == nullptr ? 50 : std::atoi(wanted);
  for (named_space const& s : spaces) {
    double const each = needed<annealing_search>(*s.points, seeds);
    s.points->is_outlined = true;
    double const dear = needed<annealing_search>(*s.points, seeds);
    s.points->is_outlined = false;
    std::printf("| %s | %.1f | %.1f |\n", s.name, each, dear);
    logs += std::log(dear), all_logs += std::log(each);
  }
  auto const count = static_cast<double>(spaces.size());
  std::printf("geometric means: %.1f, %.1f\n", std::exp(all_logs / count), std::exp(logs / count));
}
TEST_CASE("prints the curves of the recorded spaces" * doctest::skip()) {
  weft_test::recorded_inputs const in;
  in.each([&](auto const& kernel, char const* name, auto const&... a) {
    if (!is_wanted(name)) return;
    recorded_space l(kernel, file(name), a...);
    double const best = weft_test::best_of(l);
    for (bool const random : {true, false}) {
      double logs[7] = {};
      for (std::uint64_t seed = 0; seed < 50; ++seed) {
        random_search r(l, seed);
        annealing_search s(l, seed);
        search& one = random ? static_cast<search&>(r) : s;
        double so_far = 0;
        int trials = 0;
        for (int power = 0; power < 7;) {
          sequence<point> const proposed = one.propose(8);
          for (point const& p : proposed) {
            double const ns = l.ns(p);
            one.learn(p, ns);
            if (so_far == 0 || ns < so_far) so_far = ns;
            if (++trials == 1 << power) logs[power++] += std::log(best / so_far);
            if (power == 7) break;
          }
          if (proposed.empty())
            for (; power < 7; ++power) logs[power] += std::log(best / so_far);
        }
      }
      std::printf("| %s | %s |", name, random ? "random" : "annealing");
      for (double x : logs) std::printf(" %.2f |", std::exp(x / 50));
      std::printf("\n");
    }
  });
}
TEST_CASE("prints how well estimates order the recorded spaces, with and without what other tasks teach" * doctest::skip()) {
  std::vector<named_space> const spaces = all_spaces();
  std::vector<sequence<example>> const examples = examples_of(spaces, 128), unseen = examples_of(spaces, 1000, 2);
  for (std::size_t i = 0; i < spaces.size(); ++i) {
    other_tasks const others = learned_without(examples, i);
    std::vector<double> plain, corrected, costs;
    for (example const& e : unseen[i]) {
      costs.push_back(e.ns), plain.push_back(std::log(e.estimate));
      corrected.push_back(plain.back() + others.correction(e.features));
    }
    std::printf("| %s | %.2f | %.2f |\n", spaces[i].name, rank_correlation(plain.data(), costs.data(), costs.size()),
                rank_correlation(corrected.data(), costs.data(), costs.size()));
  }
}
TEST_CASE("in eight recorded spaces random search needs 60 trials or more, annealing at most a third of them, and no more with what the others teach") {
  std::vector<named_space> const spaces = all_spaces();
  std::vector<sequence<example>> const examples = examples_of(spaces, 128);
  double logs = 0, taught_logs = 0;
  for (std::size_t i = 0; i < spaces.size(); ++i) {
    recorded_space& l = *spaces[i].points;
    char const* const name = spaces[i].name;
    CHECK(l.measured > 1000);
    int const seeds = weft_test::rounds(50, 3);
    other_tasks const others = learned_without(examples, i);
    annealing_settings taught;
    taught.others = &others;
    double const random = needed<random_search>(l, seeds), annealing = needed<annealing_search>(l, seeds);
    double const with_others = needed<annealing_search>(l, seeds, taught);
    if (weft_test::is_sanitized) continue;
    std::printf("%-9s %4d points measured, 95 %% of the best after: random %.1f, annealing %.1f, with seven other tasks %.1f trials\n", name,
                l.measured, random, annealing, with_others);
    CHECK(random >= 60);
    CHECK(annealing < random);
    CHECK(with_others < random);
    logs += std::log(annealing / random), taught_logs += std::log(with_others / random);
  }
  if (weft_test::is_sanitized) return;
  auto const count = static_cast<double>(spaces.size());
  std::printf("geometric mean: annealing over random %.3f, with other tasks %.3f\n", std::exp(logs / count), std::exp(taught_logs / count));
  CHECK(spaces.size() == (std::getenv("WEFT_SPACE") == nullptr ? 8 : 1));
  CHECK(std::exp(logs / count) <= 1.0 / 3);
  if (spaces.size() > 1) CHECK(taught_logs <= logs);
}
