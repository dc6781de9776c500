#include "../programs.hpp"

#include <doctest/doctest.h>

#include <string>

#include "weft/schedule/print.hpp"
#include "weft/schedule/print_how.hpp"

using namespace weft_test;
using weft::diagnosis;
using weft::thread_axis;
using weft::verdict;

namespace {
struct scheduled {
  weft::program p = two_stages();
  weft::schedule s;
  weft::stage_handle<2, 1> C;
  weft::stage_handle<2> D;
  weft::axis i, j, k;
  explicit scheduled(std::int64_t n = 64)
      : s(p, all_extents{n}), C(weft::handle_of<2, 1>(s, 0)), D(weft::handle_of<2>(s, 1)), i(D.all[0]), j(D.all[1]), k(C.all[1]) {}
  diagnosis why() const { return s.failed < 0 ? s.fault : s.steps[static_cast<std::size_t>(s.failed)].reason; }
};
}  // namespace

TEST_CASE("bind: loops of blocks, threads, warps, lanes and virtual threads") {
  scheduled t;
  auto const [io, ii] = t.s.split(t.i, 16);
  auto const [jo, ji] = t.s.split(t.j, 32);
  t.s.reorder(io, jo, ii, ji);
  t.s.bind(io, thread_axis::block_x);
  t.s.bind(jo, thread_axis::virtual_thread);
  t.s.bind(ii, thread_axis::warp);
  t.s.bind(ji, thread_axis::lane);
  CHECK(t.s.state == verdict::legal);
  CHECK(weft::print_loops(t.s).find("  block_x io in 0..4\n    virtual_thread jo in 0..2\n      warp ii in 0..16\n"
                                    "        lane ji in 0..32\n") != std::string::npos);
  std::string const text = weft::print_trace(t.s);
  CHECK(text.find(": bind(io, block_x)\n") != std::string::npos);
  CHECK(weft::parse_trace(text, weft::schedule(t.p, all_extents{64})) == t.s.steps);
  CHECK(weft::print_how(t.s).find("s.bind(ji, weft::thread_axis::lane);") != std::string::npos);
}
TEST_CASE("bind: each axis of a machine has its own kind of loop, by the same name") {
  for (int word = 0; word < weft::detail::axis_words.count; ++word) {
    scheduled t(4);
    t.s.bind(t.i, static_cast<thread_axis>(word));
    CHECK(t.why() == diagnosis::none);
    CHECK(weft::name(t.s.at(t.i.id).kind) == weft::detail::axis_words.first[word]);
  }
}
TEST_CASE("bind: what the number of threads hangs on is decided at the first call") {
  scheduled t(-1);
  t.s.bind(t.i, thread_axis::thread_x);
  CHECK(t.s.state == verdict::deferred);
  scheduled u(1025);
  u.s.bind(u.i, thread_axis::thread_x);
  CHECK(u.why() == diagnosis::a_block_has_at_most_1024_threads_and_a_warp_32_lanes__split_first);
}
TEST_CASE("bind: a block has 64 threads along z, and 1024 along the others") {
  for (thread_axis to : {thread_axis::thread_x, thread_axis::thread_y, thread_axis::thread_z})
    for (std::int64_t n : {64, 65, 1024}) {
      scheduled t(n);
      t.s.bind(t.i, to);
      CHECK((t.s.state == verdict::legal) == (to != thread_axis::thread_z || n == 64));
    }
}
TEST_CASE("bind: the axis that joins parts goes to thread_x or to lanes, that of the terms to nobody") {
  auto const joined = [](thread_axis to, std::int64_t count) {
    scheduled t(64);
    auto const made = t.s.rfactor(t.C, t.k, count);
    t.s.bind(made.v, to);
    return t.s.state == verdict::illegal ? t.why() : diagnosis{};
  };
  CHECK(joined(thread_axis::thread_x, 256) == diagnosis{});
  CHECK(joined(thread_axis::lane, 32) == diagnosis{});
  CHECK(joined(thread_axis::lane, 33) == diagnosis::a_block_has_at_most_1024_threads_and_a_warp_32_lanes__split_first);
  for (thread_axis other : {thread_axis::thread_y, thread_axis::warp, thread_axis::block_x, thread_axis::virtual_thread})
    CHECK(joined(other, 8) == diagnosis::a_reduction_axis_cannot_run_in_parallel__use_rfactor);
}
TEST_CASE("bind: what is refused") {
  struct {
    void (*steps)(scheduled&);
    diagnosis why;
  } const cases[] = {
      {[](scheduled& t) { t.s.bind(t.k, thread_axis::thread_x); }, diagnosis::a_reduction_axis_cannot_run_in_parallel__use_rfactor},
      {[](scheduled& t) { t.s.bind(t.k, thread_axis::virtual_thread); }, diagnosis::a_reduction_axis_cannot_run_in_parallel__use_rfactor},
      {[](scheduled& t) { t.s.unroll(t.i), t.s.bind(t.i, thread_axis::block_x); },
       diagnosis::the_axis_is_unrolled_vectorized_or_parallel_already},
      {[](scheduled& t) { t.s.bind(t.i, thread_axis::block_x), t.s.bind(t.j, thread_axis::block_x); },
       diagnosis::another_axis_is_bound_to_that_already},
      {[](scheduled& t) { t.s.parallel(t.i), t.s.bind(t.j, thread_axis::thread_x); }, diagnosis::another_axis_is_bound_to_that_already},
      {[](scheduled& t) { t.s.bind(t.j, thread_axis::thread_x), t.s.parallel(t.i); }, diagnosis::another_axis_is_bound_to_that_already},
      {[](scheduled& t) { t.s.bind(t.i, thread_axis::thread_x), t.s.bind(t.j, thread_axis::block_y); },
       diagnosis::blocks_stand_outside_of_threads__reorder_first},
      {[](scheduled& t) {
         t.s.bind(t.i, thread_axis::block_y), t.s.bind(t.j, thread_axis::thread_x), t.s.reorder(t.j, t.i);
       },
       diagnosis::blocks_stand_outside_of_threads__reorder_first},
      {[](scheduled& t) { t.s.unroll(t.i), t.s.bind(t.j, thread_axis::thread_x); },
       diagnosis::a_parallel_axis_cannot_stand_inside_an_unrolled_or_vectorized_one__reorder_first},
      {[](scheduled& t) { t.s.bind(t.j, thread_axis::thread_x), t.s.vectorize(t.i); },
       diagnosis::a_parallel_axis_cannot_stand_inside_an_unrolled_or_vectorized_one__reorder_first},
      {[](scheduled& t) { t.s.parallel(t.j), t.s.bind(t.i, thread_axis::virtual_thread); },
       diagnosis::a_parallel_axis_cannot_stand_inside_an_unrolled_or_vectorized_one__reorder_first},
      {[](scheduled& t) { t.s.bind(t.i, thread_axis::thread_y), t.s.bind(t.j, thread_axis::thread_x); },
       diagnosis::a_block_has_at_most_1024_threads_and_a_warp_32_lanes__split_first},
      {[](scheduled& t) { t.s.bind(t.i, thread_axis::lane); },
       diagnosis::a_block_has_at_most_1024_threads_and_a_warp_32_lanes__split_first},
      {[](scheduled& t) { t.s.bind(t.i, thread_axis::thread_x), t.s.compute_at(t.C, t.i), t.s.bind(t.C.all[0], thread_axis::thread_x); },
       diagnosis::a_parallel_axis_cannot_run_inside_a_parallel_axis_of_another_stage},
      {[](scheduled& t) { t.s.bind(t.i, thread_axis::virtual_thread), t.s.compute_at(t.C, t.i), t.s.store_root(t.C); },
       diagnosis::a_parallel_axis_cannot_stand_between_a_stage_and_its_memory},
  };
  for (auto const& c : cases) {
    scheduled t;
    c.steps(t);
    CHECK(weft::sentence(t.why()) == weft::sentence(c.why));
  }
}
TEST_CASE("bind: threads inside the blocks of another stage, virtual threads around threads and around a stage") {
  scheduled t(16);
  t.s.bind(t.i, thread_axis::block_x);
  t.s.compute_at(t.C, t.i);
  t.s.bind(t.j, thread_axis::thread_x);
  t.s.bind(t.C.all[0], thread_axis::thread_x);
  CHECK(weft::sentence(t.why()) == "");
  scheduled u(16);
  u.s.bind(u.i, thread_axis::virtual_thread);
  u.s.bind(u.j, thread_axis::thread_x);
  u.s.compute_at(u.C, u.i);
  CHECK(weft::sentence(u.why()) == "");
}
