#include "../programs.hpp"

#include <doctest/doctest.h>

#include "weft/schedule/print.hpp"

using namespace weft_test;
using weft::diagnosis;
using weft::verdict;

constexpr auto runs_i = [](auto& s, auto i, auto, auto) { s.parallel(i); };
constexpr auto runs_the_sum = [](auto& s, auto, auto, auto k) { s.parallel(k); };
constexpr auto runs_a_part_of_the_sum = [](auto& s, auto, auto, auto k) { s.parallel(s.split(k, 4)[0]); };
constexpr auto runs_two = [](auto& s, auto i, auto j, auto) {
  s.parallel(i);
  s.parallel(j);
};
constexpr auto runs_twice = [](auto& s, auto i, auto, auto) {
  s.parallel(i);
  s.parallel(i);
};
constexpr auto runs_inside_a_vector = [](auto& s, auto i, auto j, auto) {
  s.vectorize(s.split(i, 4)[1]);
  s.parallel(j);
};

static_assert(is(judge_matmul(-1, runs_i), verdict::legal));
static_assert(is(judge_matmul(-1, runs_the_sum), verdict::illegal,
                 diagnosis::a_reduction_axis_cannot_run_in_parallel__use_rfactor));
static_assert(is(judge_matmul(-1, runs_two), verdict::illegal, diagnosis::the_stage_has_a_parallel_axis_already));

TEST_CASE("parallel takes one spatial axis of a stage") {
  for (std::int64_t extent : {-1, 0, 64}) {
    CAPTURE(extent);
    CHECK(is(judge_matmul(extent, runs_i), verdict::legal));
    CHECK(is(judge_matmul(extent, runs_the_sum), verdict::illegal,
             diagnosis::a_reduction_axis_cannot_run_in_parallel__use_rfactor));
    CHECK(is(judge_matmul(extent, runs_a_part_of_the_sum), verdict::illegal,
             diagnosis::a_reduction_axis_cannot_run_in_parallel__use_rfactor));
    CHECK(is(judge_matmul(extent, runs_two), verdict::illegal, diagnosis::the_stage_has_a_parallel_axis_already));
    CHECK(is(judge_matmul(extent, runs_twice), verdict::illegal,
             diagnosis::the_axis_is_unrolled_vectorized_or_parallel_already));
    CHECK(is(judge_matmul(extent, runs_inside_a_vector), verdict::illegal,
             diagnosis::a_parallel_axis_cannot_stand_inside_an_unrolled_or_vectorized_one__reorder_first));
  }
}

TEST_CASE("parallel: a limit of threads stands beside the loop, and in the trace") {
  weft::program const p = two_stages();
  weft::schedule s(p, all_extents{8});
  s.parallel(weft::axis{s.order[0][0]}, weft::thread_limit(4));
  s.parallel(weft::axis{s.order[1][0]});
  CHECK(s.state == verdict::legal);
  CHECK(weft::print_loops(s).find("parallel i in 0..8 by at most 4 threads\n") != std::string::npos);
  CHECK(weft::print_trace(s) == "C: parallel(i, 4)\nD: parallel(i)\n");
  CHECK(weft::parse_trace(weft::print_trace(s), weft::schedule(p, all_extents{8})) == s.steps);
  for (std::int64_t limit : {std::int64_t(0), std::int64_t(-3), std::int64_t(1) << 21})
    CHECK(is(judge_matmul(8, [&](auto& t, auto i, auto, auto) { t.parallel(i, weft::thread_limit(limit)); }), verdict::illegal,
             diagnosis::a_parallel_axis_is_run_by_at_least_1_thread));
  CHECK(is(judge_matmul(8, [](auto& t, auto, auto, auto k) { t.parallel(k, weft::thread_limit(4)); }), verdict::illegal,
           diagnosis::a_reduction_axis_cannot_run_in_parallel__use_rfactor));
}
TEST_CASE("parallel marks the loop and leaves the order") {
  weft::program const p = two_stages();
  weft::schedule s(p, all_extents{8});
  s.parallel(weft::axis{s.order[0][0]});
  s.parallel(weft::axis{s.order[1][0]});
  CHECK(s.state == verdict::legal);
  CHECK(s.at(s.order[1][0]).kind == weft::loop_kind::parallel);
  CHECK(loop_names(s, 0) == "i j");
}
