#include "../programs.hpp"

#include <doctest/doctest.h>

using namespace weft_test;
using weft::diagnosis;
using weft::verdict;

constexpr auto vectorizes_j = [](auto& s, auto, auto j, auto) { s.vectorize(j); };
constexpr auto vectorizes_a_part = [](auto& s, auto, auto j, auto) { s.vectorize(s.split(j, 16)[1]); };
constexpr auto vectorizes_an_outer_part = [](auto& s, auto, auto j, auto) { s.vectorize(s.split(j, 16)[0]); };
constexpr auto vectorizes_the_strided_part = [](auto& s, auto, auto j, auto) {
  auto const [jo, ji] = s.split(j, 16);
  s.reorder(ji, jo);
  s.vectorize(jo);
};
constexpr auto vectorizes_the_sum = [](auto& s, auto, auto, auto k) { s.vectorize(k); };
constexpr auto vectorizes_two = [](auto& s, auto i, auto j, auto) {
  s.vectorize(s.split(j, 16)[1]);
  s.vectorize(s.split(i, 4)[1]);
};
constexpr auto vectorizes_around_parallel = [](auto& s, auto i, auto j, auto) {
  s.parallel(j);
  s.vectorize(s.split(i, 4)[1]);
};

static_assert(is(judge_matmul(-1, vectorizes_j), verdict::deferred));
static_assert(is(judge_matmul(1024, vectorizes_j), verdict::legal));
static_assert(is(judge_matmul(1025, vectorizes_j), verdict::illegal,
                 diagnosis::a_vectorized_axis_has_more_than_1024_lanes__split_it_first));
static_assert(is(judge_matmul(-1, vectorizes_a_part), verdict::legal));
static_assert(is(judge_matmul(-1, vectorizes_the_sum), verdict::illegal,
                 diagnosis::a_reduction_axis_cannot_be_vectorized__use_rfactor));

TEST_CASE("vectorize: what was deferred is decided by the extents of the call") {
  CHECK(is(judge_matmul(-1, vectorizes_j), verdict::deferred));
  CHECK(is(judge_matmul(7, vectorizes_j), verdict::legal));
  CHECK(is(judge_matmul(1025, vectorizes_j), verdict::illegal,
           diagnosis::a_vectorized_axis_has_more_than_1024_lanes__split_it_first));
}

TEST_CASE("vectorize takes the inner part of an axis, or the outer one when it is innermost") {
  for (std::int64_t extent : {-1, 64}) {
    CAPTURE(extent);
    CHECK(is(judge_matmul(extent, vectorizes_a_part), verdict::legal));
    CHECK(is(judge_matmul(extent, vectorizes_an_outer_part), verdict::illegal,
             diagnosis::an_inner_part_of_this_axis_runs_inside_it__vectorize_that_part));
    CHECK(judge_matmul(extent, vectorizes_the_strided_part).state != verdict::illegal);
  }
}

TEST_CASE("vectorize refuses a sum, a second axis, and an axis around a parallel one") {
  CHECK(is(judge_matmul(64, vectorizes_the_sum), verdict::illegal,
           diagnosis::a_reduction_axis_cannot_be_vectorized__use_rfactor));
  CHECK(is(judge_matmul(64, vectorizes_two), verdict::illegal, diagnosis::the_stage_has_a_vectorized_axis_already));
  CHECK(is(judge_matmul(64, vectorizes_around_parallel), verdict::illegal,
           diagnosis::a_parallel_axis_cannot_stand_inside_an_unrolled_or_vectorized_one__reorder_first));
}

TEST_CASE("each stage may have a vectorized axis of its own") {
  weft::program const p = two_stages();
  weft::schedule s(p, all_extents{8});
  s.vectorize(weft::axis{s.order[0][0]});
  s.vectorize(weft::axis{s.order[1][1]});
  CHECK(s.state == verdict::legal);
}
