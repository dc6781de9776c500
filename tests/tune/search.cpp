#include "weft/tune/search.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdio>

#include "tune/landscapes.hpp"

using namespace weft;
using namespace weft::tuning;
using weft_test::outlined_tiles, weft_test::tiles;

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
    ++looks;
    point p;
    p.choices = sequence<std::int32_t>{choices.empty() ? 0 : choices[0] % size};
    p.sizes = sequence<std::int32_t>{size};
    p.features = sequence<float>{static_cast<float>(p.choices[0])};
    p.legal = true;
    return p;
  }
  std::int32_t size;
  int looks = 0;
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
    small.looks = 0;
    CHECK(s->propose(3).empty());
    CHECK(small.looks < 5000);  // that there are no more is found by asking for some, and each may be a run of the rule
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

TEST_CASE("an outline has the values of each knob, and which knobs are met beside which values") {
  outline all;
  sequence<knob_info> knobs{{short_name("packed"), {0, 1}, 1}, {short_name("panel"), {16, 64}, 1}, {short_name("rows"), {6, 8}, 0}};
  outlined const packed = all.note(knobs);
  knobs[0].chosen = 0;
  knobs.erase(knobs.begin() + 1);
  knobs[1].values = sequence<std::int64_t>{4, 6}, knobs[1].chosen = 0;
  outlined plain = all.note(knobs);
  CHECK(all.size() == 3);
  CHECK(all.value(2, plain.at[2]) == 4);
  CHECK(all.count(2) == 3);  // 6, 8 and 4
  CHECK(all.met(packed) == 7);
  CHECK(all.met(plain) == 5);
  plain.at[0] = packed.at[0];  // 4 rows were seen without a panel alone
  CHECK(all.met(plain) == 5);
  plain.at[2] = packed.at[2];
  CHECK(all.met(plain) == 7);
  plain.at[2] = 1;  // nobody has seen 8 rows: what stands beside packing is there
  CHECK(all.met(plain) == 7);
  float features[3] = {};
  plain = all.note(knobs);
  all.describe(plain, 5, features);
  CHECK(features[1] == -1.0f);
  CHECK(features[2] == doctest::Approx(std::log2(5.0)));
  CHECK(all.place(short_name("rows")) == 2);
  CHECK(all.place(short_name("columns")) == -1);
}
TEST_CASE("of more than 255 values of a knob the nearest known one stands for the rest, and of two knobs with one name the first counts") {
  outline all;
  for (std::int64_t v = 0; v < 300; ++v) {
    outlined const o = all.note({{short_name("t"), {v + 1, v + 1001}, 0}});
    REQUIRE(o.at[0] < all.count(0));
    // Known are 1 and 1001 to 127 and 1127, and 128.
    CHECK(all.value(0, o.at[0]) == (v < 128 ? v + 1 : 128));
    float feature = 0;
    all.describe(o, all.met(o), &feature);
    CHECK(feature > 0);
  }
  CHECK(all.count(0) == 255);
  outline twice;
  outlined const o = twice.note({{short_name("t"), {4, 8}, 1}, {short_name("t"), {4, 8}, 0}});
  CHECK(twice.size() == 1);
  CHECK(twice.value(0, o.at[0]) == 8);
}
TEST_CASE("where a look is dear, a search looks at few points, proposes what is legal and nothing twice, and needs no more trials") {
  double logs = 0, plain_logs = 0;
  constexpr int seeds = 20, most = 2000;
  for (int seed = 0; seed < seeds; ++seed) {
    auto const one = static_cast<std::uint64_t>(seed);
    outlined_tiles l(1000 + one);
    tiles same_costs(1000 + one);
    double const best = weft_test::best_of(same_costs);
    annealing_search dear(l, one), plain(same_costs, one);
    logs += std::log(weft_test::trials_until_good(dear, l, best, most, 8));
    plain_logs += std::log(weft_test::trials_until_good(plain, same_costs, best, most, 8));
  }
  std::printf("trials until 95 %% of the best: %.1f where few points are looked at, %.1f where all are\n", std::exp(logs / seeds), std::exp(plain_logs / seeds));
  CHECK(logs <= plain_logs + seeds * std::log(1.25));
  outlined_tiles l(7);
  annealing_settings how;
  how.chains = 128, how.steps = 100, how.looks = 50;
  annealing_search a(l, 3, how);
  sequence<sequence<std::int32_t>> seen;
  for (int round = 0; round < 6; ++round) {
    l.looks = 0;
    sequence<point> const proposed = a.propose(8);
    if (round > 0) CHECK(l.looks <= 50 + 8 * 20);  // and what is proposed at random
    for (point const& p : proposed) {
      CHECK(p.legal);
      for (sequence<std::int32_t> const& other : seen) CHECK_FALSE(other == p.choices);
      seen.push_back(p.choices);
      a.learn(p, l.ns(p));
    }
  }
  CHECK(seen.size() == 48);
}
