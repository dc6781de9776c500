#include "../programs.hpp"

#include <doctest/doctest.h>

using namespace weft_test;
using weft::diagnosis;
using weft::verdict;

constexpr auto unrolls_i = [](auto& s, auto i, auto, auto) { s.unroll(i); };
constexpr auto unrolls_a_part = [](auto& s, auto, auto, auto k) { s.unroll(s.split(k, 8)[1]); };
constexpr auto unrolls_twice = [](auto& s, auto i, auto, auto) {
  s.unroll(i);
  s.unroll(i);
};
constexpr auto unrolls_around_parallel = [](auto& s, auto i, auto j, auto) {
  s.parallel(j);
  s.unroll(i);
};

static_assert(is(judge_matmul(8, unrolls_i), verdict::legal));
static_assert(is(judge_matmul(1024, unrolls_i), verdict::legal));
static_assert(is(judge_matmul(1025, unrolls_i), verdict::illegal,
                 diagnosis::an_unrolled_axis_runs_more_than_1024_times__split_it_first));
static_assert(is(judge_matmul(-1, unrolls_i), verdict::deferred));
static_assert(is(judge_matmul(-1, unrolls_a_part), verdict::legal));  // a reduced axis may be unrolled
static_assert(is(judge_matmul(8, unrolls_twice), verdict::illegal,
                 diagnosis::the_axis_is_unrolled_vectorized_or_parallel_already));
static_assert(is(judge_matmul(-1, unrolls_around_parallel), verdict::illegal,
                 diagnosis::a_parallel_axis_cannot_stand_inside_an_unrolled_or_vectorized_one__reorder_first));

TEST_CASE("unroll: what was deferred is decided by the extents of the call") {
  CHECK(is(judge_matmul(-1, unrolls_i), verdict::deferred));
  CHECK(is(judge_matmul(0, unrolls_i), verdict::legal));
  CHECK(is(judge_matmul(1024, unrolls_i), verdict::legal));
  CHECK(is(judge_matmul(1025, unrolls_i), verdict::illegal,
           diagnosis::an_unrolled_axis_runs_more_than_1024_times__split_it_first));
}

TEST_CASE("unroll marks the loop and leaves the order") {
  weft::program const p = matmul();
  weft::schedule s(p, all_extents{8});
  s.unroll(weft::axis{1});
  CHECK(s.at(1).kind == weft::loop_kind::unrolled);
  CHECK(loop_names(s, 0) == "i j k");
}

TEST_CASE("unroll around a parallel loop is illegal, as parallel inside an unrolled one is") {
  CHECK(is(judge_matmul(8, unrolls_around_parallel), verdict::illegal,
           diagnosis::a_parallel_axis_cannot_stand_inside_an_unrolled_or_vectorized_one__reorder_first));
  CHECK(is(judge_matmul(8,
                        [](auto& s, auto i, auto j, auto) {
                          s.unroll(i);
                          s.parallel(j);
                        }),
           verdict::illegal,
           diagnosis::a_parallel_axis_cannot_stand_inside_an_unrolled_or_vectorized_one__reorder_first));
}

TEST_CASE("verdicts join: a deferred schedule stays deferred under legal steps, an illegal one stays illegal") {
  auto const joined = judge_matmul(-1, [](auto& s, auto i, auto j, auto) {
    s.unroll(i);
    s.split(j, 4);
  });
  CHECK(joined.state == verdict::deferred);
  CHECK(joined.steps == 2);
  auto const stopped = judge_matmul(-1, [](auto& s, auto i, auto j, auto) {
    s.unroll(i);
    s.split(j, 0);
    s.split(j, 4);
  });
  CHECK(stopped.state == verdict::illegal);
  CHECK(stopped.steps == 2);
}
