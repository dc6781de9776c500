#include "../programs.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace weft_test;
using weft::axis;
using weft::diagnosis;
using weft::verdict;

TEST_CASE("reorder puts the named loops into the places that they had together") {
  weft::program const p = matmul();
  weft::schedule s(p, all_extents{8});
  axis const i{s.order[0][0]}, j{s.order[0][1]}, k{s.order[0][2]};
  s.reorder(k, i);
  CHECK(loop_names(s, 0) == "k j i");
  s.reorder(j);
  CHECK(loop_names(s, 0) == "k j i");
  s.reorder(i, j, k);
  CHECK(loop_names(s, 0) == "i j k");
  CHECK(s.state == verdict::legal);
}

TEST_CASE("reorder visits the same points; a reduced axis that is not cut keeps its order") {
  weft::program const p = matmul();
  weft::schedule s(p, all_extents{3});
  auto const before = points(s, 0);
  s.reorder(axis{2}, axis{1}, axis{0});
  auto after = points(s, 0);
  CHECK(after != before);
  for (std::size_t n = 1; n < after.size(); ++n) CHECK(after[n - 1][2] <= after[n][2]);
  std::sort(after.begin(), after.end());
  CHECK(after == before);
}

constexpr auto names_twice = [](auto& s, auto i, auto j, auto) { s.reorder(i, j, i); };
constexpr auto names_a_split_axis = [](auto& s, auto i, auto j, auto) {
  s.split(i, 4);
  s.reorder(j, i);
};
constexpr auto parallel_into_unrolled = [](auto& s, auto i, auto j, auto) {
  s.parallel(i);
  s.unroll(j);
  s.reorder(j, i);
};
constexpr auto parallel_into_vectorized = [](auto& s, auto i, auto j, auto) {
  auto const [jo, ji] = s.split(j, 8);
  s.parallel(i);
  s.vectorize(ji);
  s.reorder(jo, ji, i);
};
constexpr auto inner_part_into_vectorized = [](auto& s, auto, auto j, auto) {
  auto const [jo, ji] = s.split(j, 8);
  s.reorder(ji, jo);
  s.vectorize(jo);
  s.reorder(jo, ji);
};
constexpr auto moves_marked_loops_well = [](auto& s, auto i, auto j, auto k) {
  auto const [jo, ji] = s.split(j, 8);
  s.vectorize(ji);
  s.parallel(jo);
  s.reorder(jo, k, i, ji);
};

static_assert(is(judge_matmul(-1, names_twice), verdict::illegal, diagnosis::an_axis_is_named_twice));
static_assert(is(judge_matmul(-1, names_a_split_axis), verdict::illegal, diagnosis::the_axis_was_split_already));
static_assert(is(judge_matmul(-1, parallel_into_unrolled), verdict::illegal,
                 diagnosis::a_parallel_axis_cannot_stand_inside_an_unrolled_or_vectorized_one__reorder_first));
static_assert(is(judge_matmul(-1, moves_marked_loops_well), verdict::legal));

TEST_CASE("reorder keeps what the marks demand, as the steps that set them") {
  for (std::int64_t extent : {-1, 64}) {
    CAPTURE(extent);
    CHECK(is(judge_matmul(extent, moves_marked_loops_well), verdict::legal));
    CHECK(is(judge_matmul(extent, parallel_into_unrolled), verdict::illegal,
             diagnosis::a_parallel_axis_cannot_stand_inside_an_unrolled_or_vectorized_one__reorder_first));
    CHECK(is(judge_matmul(extent, parallel_into_vectorized), verdict::illegal,
             diagnosis::a_parallel_axis_cannot_stand_inside_an_unrolled_or_vectorized_one__reorder_first));
    CHECK(is(judge_matmul(extent, inner_part_into_vectorized), verdict::illegal,
             diagnosis::an_inner_part_of_this_axis_runs_inside_it__vectorize_that_part));
  }
}

TEST_CASE("reorder refuses axes of two stages and of none") {
  weft::program const p = two_stages();
  weft::schedule s(p, all_extents{8});
  s.reorder(axis{s.order[0][0]}, axis{s.order[1][0]});
  CHECK(s.state == verdict::illegal);
  CHECK(s.steps.back().reason == diagnosis::the_axes_belong_to_different_stages);
  weft::schedule t(p, all_extents{8});
  t.reorder(axis{t.order[0][0]}, axis{});
  CHECK(t.steps.back().reason == diagnosis::the_axis_belongs_to_no_stage_of_this_schedule);
}
