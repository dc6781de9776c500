#include "../programs.hpp"

#include <doctest/doctest.h>

using namespace weft_test;
using weft::diagnosis;
using weft::verdict;

TEST_CASE("split keeps every index exactly once, in the same order") {
  weft::program const p = two_stages();
  for (std::int64_t extent : {0, 1, 5, 7, 8, 24})
    for (std::int64_t factor : {1, 2, 3, 8, 100}) {
      CAPTURE(extent);
      CAPTURE(factor);
      weft::schedule s(p, all_extents{extent});
      auto const before = points(s, 0);
      auto const [io, ii] = s.split(weft::axis{s.order[0][0]}, factor);
      CHECK(points(s, 0) == before);
      auto const [ioo, ioi] = s.split(io, 2);
      s.split(ii, 3);
      CHECK(points(s, 0) == before);
      CHECK(ioo.id >= 0);
      CHECK(ioi.id >= 0);
      CHECK(s.state == verdict::legal);
    }
}

TEST_CASE("split names its parts and puts them where the axis stood") {
  weft::program const p = matmul();
  weft::schedule s(p, all_extents{100});
  auto const [jo, ji] = s.split(weft::axis{s.order[0][1]}, 16);
  CHECK(loop_names(s, 0) == "i jo ji k");
  CHECK(s.at(jo.id).extent == 7);
  CHECK(s.at(ji.id).extent == 16);
  auto const [jio, jii] = s.split(ji, 4);
  CHECK(loop_names(s, 0) == "i jo jio jii k");
  CHECK(s.at(jii.id).root == s.order[0][0] + 1);
  CHECK(s.at(jio.id).reduced == false);
}

TEST_CASE("split of an extent that is not known: the outer part is unknown, the inner one the factor") {
  weft::program const p = matmul();
  weft::schedule s(p, all_extents{});
  auto const [ko, ki] = s.split(weft::axis{s.order[0][2]}, 8);
  CHECK(s.at(ko.id).extent == -1);
  CHECK(s.at(ki.id).extent == 8);
  CHECK(s.at(ki.id).reduced);
}

TEST_CASE("split with the largest factor does not overflow") {
  constexpr std::int64_t largest = 0x7fffffffffffffff;
  weft::program const p = matmul();
  weft::schedule s(p, all_extents{5});
  auto const [io, ii] = s.split(weft::axis{s.order[0][0]}, largest);
  CHECK(s.at(io.id).extent == 1);
  CHECK(s.at(ii.id).extent == 5);
}

constexpr auto splits_twice = [](auto& s, auto i, auto, auto) {
  s.split(i, 4);
  s.split(i, 2);
};
constexpr auto splits_by_zero = [](auto& s, auto i, auto, auto) { s.split(i, 0); };
constexpr auto splits_a_marked_axis = [](auto& s, auto i, auto, auto) {
  s.parallel(i);
  s.split(i, 4);
};
constexpr auto splits_nothing = [](auto& s, auto, auto, auto) { s.split(weft::axis{}, 4); };
constexpr auto splits_a_wrong_axis = [](auto& s, auto, auto, auto) { s.split(weft::axis{99}, 4); };
constexpr auto splits_well = [](auto& s, auto i, auto, auto k) {
  auto const [ko, ki] = s.split(k, 4);
  s.split(i, 1);
  s.split(ko, 3);
  s.split(ki, 2);
};

static_assert(is(judge_matmul(-1, splits_well), verdict::legal));
static_assert(is(judge_matmul(-1, splits_twice), verdict::illegal, diagnosis::the_axis_was_split_already));
static_assert(is(judge_matmul(-1, splits_by_zero), verdict::illegal, diagnosis::a_factor_must_be_at_least_1));
static_assert(is(judge_matmul(-1, splits_a_marked_axis), verdict::illegal,
                 diagnosis::the_axis_is_unrolled_vectorized_or_parallel_already));
static_assert(is(judge_matmul(-1, splits_nothing), verdict::illegal,
                 diagnosis::the_axis_belongs_to_no_stage_of_this_schedule));

TEST_CASE("split rules at run time as in the compiler") {
  for (std::int64_t extent : {-1, 0, 1, 64}) {
    CAPTURE(extent);
    CHECK(is(judge_matmul(extent, splits_well), verdict::legal));
    CHECK(is(judge_matmul(extent, splits_twice), verdict::illegal, diagnosis::the_axis_was_split_already));
    CHECK(is(judge_matmul(extent, splits_by_zero), verdict::illegal, diagnosis::a_factor_must_be_at_least_1));
    CHECK(is(judge_matmul(extent, splits_a_wrong_axis), verdict::illegal,
             diagnosis::the_axis_belongs_to_no_stage_of_this_schedule));
  }
}

TEST_CASE("an illegal split hands out poisoned axes, changes nothing and is the last step") {
  weft::program const p = matmul();
  weft::schedule s(p, all_extents{64});
  weft::axis const i{s.order[0][0]};
  auto const [io, ii] = s.split(i, -1);
  CHECK(io.id == -1);
  CHECK(ii.id == -1);
  CHECK(s.failed == 0);
  CHECK(loop_names(s, 0) == "i j k");
  s.unroll(ii);
  s.parallel(i);  // legal by itself, but passed over
  CHECK(s.steps.size() == 1);
  CHECK(s.at(i.id).kind == weft::loop_kind::serial);
  CHECK(s.state == verdict::illegal);
}
