#include "weft/tune/model.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "weft/tune/other_tasks.hpp"
#include "weft/tune/point.hpp"

using namespace weft;
using namespace weft::tuning;

namespace {
struct table {
  sequence<float> rows;
  sequence<double> costs;
};
/// Five features of which the last two say nothing; a cost with a bend, a jump and a product in it.
table made(std::size_t count, std::uint64_t seed) {
  table t;
  random_numbers r(seed);
  for (std::size_t i = 0; i < count; ++i) {
    float const x[5] = {static_cast<float>(r.below(9)), static_cast<float>(r.below(5)), static_cast<float>(r.below(2)),
                        static_cast<float>(r.unit()), 3};
    for (float f : x) t.rows.push_back(f);
    t.costs.push_back(std::abs(x[0] - 4) + (x[2] > 0 ? 2.0 * x[1] : 0.0) + (x[1] > 3 ? 3 : 0));
  }
  return t;
}
}  // namespace

TEST_CASE("the model orders rows that it has not seen") {
  table const seen = made(200, 1), unseen = made(200, 2);
  boosted_trees m;
  m.fit(seen.rows.data(), 5, seen.costs.data(), 200);
  sequence<double> expected;
  for (std::size_t i = 0; i < 200; ++i) expected.push_back(m.predict(&unseen.rows[5 * i]));
  CHECK(rank_correlation(expected.data(), unseen.costs.data(), 200) > 0.97);
}
TEST_CASE("what an estimate leaves out is learned from tasks of other sizes, and orders what it has not seen") {
  // An estimate that knows the first feature, and costs that hang on the second one, too; each task takes its own multiple.
  auto const trials_of = [](std::uint64_t task, std::size_t count) {
    random_numbers r(task);
    sequence<example> all;
    for (std::size_t i = 0; i < count; ++i) {
      float const a = static_cast<float>(r.below(9)), b = static_cast<float>(r.below(9));
      all.push_back({task, std::exp(double(task) + 0.3 * double(a) + 0.5 * double(b)), std::exp(0.3 * double(a)), {a - 4, b - 4}});
    }
    return all;
  };
  sequence<example> seen;
  for (std::uint64_t task = 1; task <= 4; ++task)
    for (example const& e : trials_of(task, 64)) seen.push_back(e);
  other_tasks others;
  CHECK_FALSE(others.fitted());
  CHECK(others.correction({1, 1}) == 0);
  others.fit(seen);
  CHECK(others.size() == 256);
  sequence<double> plain, corrected, costs;
  for (example const& e : trials_of(9, 100)) {
    plain.push_back(std::log(e.estimate)), corrected.push_back(std::log(e.estimate) + others.correction(e.features)), costs.push_back(std::log(e.ns));
  }
  CHECK(rank_correlation(plain.data(), costs.data(), 100) < 0.7);
  CHECK(rank_correlation(corrected.data(), costs.data(), 100) > 0.95);
  CHECK(others.correction({1, 1, 1}) == 0);  // of other features nothing is said
  others.fit({{1, 5, 5, {1, 1}}, {2, 5, 5, {1, 1}}});
  CHECK_FALSE(others.fitted());  // of tasks with less than four trials neither
}
TEST_CASE("what says nothing is not asked") {
  table const seen = made(200, 3);
  boosted_trees m;
  m.fit(seen.rows.data(), 5, seen.costs.data(), 200);
  sequence<double> const importance = m.importance();
  CHECK(importance[4] == 0);
  CHECK(importance[3] < 0.05);
  CHECK(importance[0] + importance[1] + importance[2] > 0.95);
}
TEST_CASE("equal rows give equal models, and one row gives its cost") {
  table const seen = made(50, 4);
  boosted_trees a, b, one;
  a.fit(seen.rows.data(), 5, seen.costs.data(), 50);
  b.fit(seen.rows.data(), 5, seen.costs.data(), 50);
  for (std::size_t i = 0; i < 50; ++i) CHECK(a.predict(&seen.rows[5 * i]) == b.predict(&seen.rows[5 * i]));
  one.fit(seen.rows.data(), 5, seen.costs.data(), 1);
  CHECK(one.predict(&seen.rows[0]) == seen.costs[0]);
}
TEST_CASE("a model is of the rows of its last fit") {
  table const first = made(100, 5), second = made(100, 6);
  boosted_trees a, b;
  a.fit(first.rows.data(), 5, first.costs.data(), 100);
  a.fit(second.rows.data(), 5, second.costs.data(), 100);
  b.fit(second.rows.data(), 5, second.costs.data(), 100);
  CHECK(a.predict(&first.rows[0]) == b.predict(&first.rows[0]));
}
TEST_CASE("rank correlation is 1 for the same order, -1 for the reverse, and ties share a place") {
  double const a[] = {1, 2, 3, 4}, b[] = {10, 20, 30, 45}, c[] = {4, 3, 2, 1}, d[] = {1, 1, 1, 1}, e[] = {1, 2, 2, 3};
  CHECK(rank_correlation(a, b, 4) == 1);
  CHECK(rank_correlation(a, c, 4) == -1);
  CHECK(rank_correlation(a, d, 4) == 0);
  CHECK(rank_correlation(e, e, 4) == 1);
}
TEST_CASE("recall is the share of the least that is among the least of the other") {
  double const a[] = {1, 2, 3, 4, 5, 6}, b[] = {10, 20, 60, 50, 40, 30};
  CHECK(top_recall(a, b, 6, 2) == 1);
  CHECK(top_recall(a, b, 6, 4) == 0.5);
  CHECK(top_recall(a, b, 6, 6) == 1);
  CHECK(top_recall(a, b, 6, 0) == 0);
}
