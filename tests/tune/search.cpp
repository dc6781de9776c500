#include "weft/tune/search.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdio>

#include "tune/landscapes.hpp"

using namespace weft;
using namespace weft::tuning;
using weft_test::tiles;

namespace {
bool same(sequence<point> const& a, sequence<point> const& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!(a[i].choices == b[i].choices)) return false;
  return true;
}
/// A space of `size` points, all legal.
struct line : landscape {
  explicit line(std::int32_t n) : size(n) {}
  point look(sequence<std::int32_t> const& choices) override {
    point p;
    p.choices = sequence<std::int32_t>{choices.empty() ? 0 : choices[0] % size};
    p.sizes = sequence<std::int32_t>{size};
    p.features = sequence<float>{static_cast<float>(p.choices[0])};
    p.legal = true;
    return p;
  }
  std::int32_t size;
};
}  // namespace

TEST_CASE("no point is proposed twice, none that is illegal, and a small space is proposed whole") {
  line small(10);
  random_search a(small, 1);
  annealing_search b(small, 1);
  for (search* s : {static_cast<search*>(&a), static_cast<search*>(&b)}) {
    bool seen[10] = {};
    int count = 0;
    for (int round = 0; round < 6; ++round)
      for (point const& p : s->propose(3)) {
        CHECK_FALSE(seen[p.choices[0]]);
        seen[p.choices[0]] = true;
        ++count;
        s->learn(p, 1.0 + p.choices[0]);
      }
    CHECK(count == 10);
    CHECK(s->propose(3).empty());
  }
  tiles l(7);
  annealing_search c(l, 3);
  for (int round = 0; round < 10; ++round)
    for (point const& p : c.propose(8)) {
      CHECK(p.legal);
      c.learn(p, l.ns(p));
    }
}
TEST_CASE("the same seed and costs give the same proposals, another seed others") {
  tiles l(7);
  annealing_search a(l, 3), b(l, 3), other(l, 4);
  bool differs = false;
  for (int round = 0; round < 5; ++round) {
    sequence<point> const x = a.propose(8), y = b.propose(8), z = other.propose(8);
    CHECK(same(x, y));
    differs = differs || !same(x, z);
    for (point const& p : x) a.learn(p, l.ns(p)), b.learn(p, l.ns(p));
    for (point const& p : z) other.learn(p, l.ns(p));
  }
  CHECK(differs);
}
TEST_CASE("points that fail are not proposed again, and a search goes on when all have failed so far") {
  tiles l(9);
  annealing_search s(l, 1);
  for (int round = 0; round < 4; ++round) {
    sequence<point> const proposed = s.propose(8);
    CHECK(proposed.size() == 8);
    for (point const& p : proposed) s.learn(p, 0);
  }
}
TEST_CASE("annealing on a model needs at most a third of the trials that random search needs for 95 % of the best") {
  double random_logs = 0, annealing_logs = 0;
  constexpr int seeds = 50, most = 2000;
  for (int seed = 0; seed < seeds; ++seed) {
    tiles l(static_cast<std::uint64_t>(1000 + seed));
    double const best = weft_test::best_of(l);
    random_search r(l, static_cast<std::uint64_t>(seed));
    annealing_search a(l, static_cast<std::uint64_t>(seed));
    random_logs += std::log(weft_test::trials_until_good(r, l, best, most, 8));
    annealing_logs += std::log(weft_test::trials_until_good(a, l, best, most, 8));
  }
  double const random_trials = std::exp(random_logs / seeds), annealing_trials = std::exp(annealing_logs / seeds);
  std::printf("trials until 95 %% of the best, geometric mean of %d: random %.1f, annealing %.1f\n", seeds, random_trials,
              annealing_trials);
  CHECK(random_trials >= 60);
  CHECK(annealing_trials <= random_trials / 3);
}
