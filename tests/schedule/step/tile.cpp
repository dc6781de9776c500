#include "../programs.hpp"

#include <vector>
#include <doctest/doctest.h>

using namespace weft_test;
using weft::axis;
using weft::verdict;

TEST_CASE("tile is split, split, reorder") {
  weft::program const p = matmul();
  weft::schedule tiled(p, all_extents{10}), by_hand(p, all_extents{10});
  axis const i{0}, j{1};
  auto const parts = tiled.tile(i, j, 4, 3);
  auto const [io, ii] = by_hand.split(i, 4);
  auto const [jo, ji] = by_hand.split(j, 3);
  by_hand.reorder(io, jo, ii, ji);
  CHECK(tiled.steps == by_hand.steps);
  CHECK(tiled.order == by_hand.order);
  CHECK(loop_names(tiled, 0) == "io jo ii ji k");
  CHECK(parts[0].id == io.id);
  CHECK(parts[1].id == jo.id);
  CHECK(parts[2].id == ii.id);
  CHECK(parts[3].id == ji.id);
}

TEST_CASE("tile visits every point once") {
  weft::program const p = matmul();
  weft::schedule s(p, all_extents{5});
  std::size_t const before = points(s, 0).size();
  s.tile(axis{0}, axis{1}, 2, 3);
  CHECK(points(s, 0).size() == before);
  std::vector<int> seen(25, 0);
  for (auto const& point : points(s, 0)) ++seen[static_cast<std::size_t>(point[0] * 5 + point[1])];
  for (int count : seen) CHECK(count == 5);
}

constexpr auto tiles_one_axis = [](auto& s, auto i, auto, auto) { s.tile(i, i, 4, 4); };
static_assert(is(judge_matmul(-1, tiles_one_axis), verdict::illegal, weft::diagnosis::the_axis_was_split_already));

TEST_CASE("a tile whose second split is illegal hands out poisoned axes for that one only") {
  weft::program const p = matmul();
  weft::schedule s(p, all_extents{8});
  auto const [io, jo, ii, ji] = s.tile(axis{0}, axis{1}, 4, 0);
  CHECK(io.id >= 0);
  CHECK(ii.id >= 0);
  CHECK(jo.id == -1);
  CHECK(ji.id == -1);
  CHECK(s.steps.size() == 2);
}
