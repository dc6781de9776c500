#include "../programs.hpp"

#include <doctest/doctest.h>

#include "weft/expr/formula.hpp"
#include "weft/schedule/print.hpp"

using namespace weft_test;
using weft::diagnosis;
using weft::verdict;

namespace {
struct scheduled {
  weft::program p = matmul();
  weft::schedule s{p, all_extents{16}};
  weft::stage_handle<3, 2> C = weft::handle_of<3, 2>(s, 0);
  weft::axis i = C.all[0], j = C.all[1], k = C.all[2];
  diagnosis why() const { return s.failed < 0 ? s.fault : s.steps[static_cast<std::size_t>(s.failed)].reason; }
};
/// Where the least element of each row stands, and what it is.
weft::program two_results() {
  weft::program p;
  weft::expr::tensor<float, 2> const A{&p, p.add_input(weft::short_name("A"), weft::dtype::f32, 2)};
  auto const both = weft::compute<"place", "least">(
      A.extent(0), [=](auto i) { return weft::argmin(A.extent(1), [=](auto k) { return A(i, k); }); });
  p.outputs.push_back(weft::get<0>(both).id);
  p.outputs.push_back(weft::get<1>(both).id);
  return weft::canonical(p);
}
}  // namespace

TEST_CASE("cache_write: the stage copies what a new one computes, with all axes, in a loop of it") {
  scheduled t;
  auto const acc = t.s.cache_write(t.C);
  auto const [ai, aj, ak] = acc.axes();
  auto const [jo, ji] = t.s.split(t.j, 8);
  t.s.reorder(jo, t.i, ji);
  t.s.vectorize(ji);
  t.s.compute_at(acc, jo);
  t.s.reorder(ak, ai, aj);
  CHECK(t.s.state == verdict::legal);
  CHECK(weft::print_loops(t.s) == R"(C
  for jo in 0..2
    C_acc
      for k in 0..16
        for i in 0..part(16)
          for j in 0..part(16)
            C_acc[i, j] += A[i, k] * B[k, j]
    for i in 0..16
      vectorized ji in 0..8
        C[i, j] = C_acc[i, j]
  where j = jo*8 + ji
)");
  CHECK(weft::print_trace(t.s) == R"(C: cache_write()
C: split(j, 8) -> jo, ji
C: reorder(jo, i, ji)
C: vectorize(ji)
C_acc: compute_at(C, jo)
C_acc: reorder(k, i, j)
)");
  CHECK(weft::parse_trace(weft::print_trace(t.s), weft::schedule(t.p, all_extents{16})) == t.s.steps);
  CHECK(weft::hash(t.s.steps) ==
        weft::hash(weft::parse_trace(weft::print_trace(t.s), weft::schedule(t.p, all_extents{16}))));
}
TEST_CASE("cache_write: all results of a stage are computed in the new one") {
  weft::program const p = two_results();
  weft::schedule s(p, all_extents{16});
  static_cast<void>(s.cache_write(weft::handle_of<2, 1>(s, 0)));
  CHECK(s.state == verdict::legal);
  CHECK(s.computation().stages[1].results == 2);
  CHECK(s.computation().stages[1].reduced == 1);
  CHECK(s.computation().stages[0].reduced == 0);
  CHECK(weft::print_loops(s).find("place[i], least[i] = ") != std::string::npos);
}
TEST_CASE("cache_write: a copy of an input, and what reads it, go to the new stage; and it may be written so again") {
  scheduled t;
  auto const copy = t.s.cache_read(weft::input_handle<2>{1}, t.C);
  auto const acc = t.s.cache_write(t.C);
  auto const again = t.s.cache_write(acc);
  t.s.compute_at(copy, again.axes()[2]);
  CHECK(t.s.state == verdict::legal);
  weft::program const made = rewritten(t.p, t.s.steps);
  CHECK(made.nodes == t.s.computation().nodes);
  CHECK(weft::detail::update_text(t.s.computation(), again.stage) == " += A[i, k] * B_copy[k, j]");
  CHECK(weft::detail::update_text(t.s.computation(), acc.stage) == " = C_acc_acc[i, j]");
}
TEST_CASE("cache_write: the reduced axes of the stage that copies are gone, and the page says where to") {
  scheduled t;
  static_cast<void>(t.s.cache_write(t.C));
  t.s.split(t.k, 4);
  CHECK(t.why() == diagnosis::the_axis_is_gone__use_those_of_the_handle_that_its_step_returned);
  CHECK(
      explain(t.s, "matmul") ==
      R"(split: the axis is gone: cache_write, transform_layout or rfactor gave its stage others; use those of the handle that it returned
  in    schedule of matmul, step 2: C: split(k, 4)
  nest  i(16) > j(16)
  try   one of i, j, or an axis of the handle)");
  CHECK(weft::parse_trace(weft::print_trace(t.s), weft::schedule(t.p, all_extents{16})) == t.s.steps);
}
TEST_CASE("cache_write: what it refuses") {
  auto const late = diagnosis::the_stage_was_scheduled_already__this_step_comes_before_all_others_on_it;
  struct {
    void (*steps)(scheduled&);
    diagnosis why;
  } const cases[] = {
      {[](scheduled& t) { t.s.split(t.i, 4), static_cast<void>(t.s.cache_write(t.C)); }, late},
      {[](scheduled& t) { t.s.reorder(t.j, t.i), static_cast<void>(t.s.cache_write(t.C)); }, late},
      {[](scheduled& t) { t.s.parallel(t.i), static_cast<void>(t.s.cache_write(t.C)); }, late},
      {[](scheduled& t) {  // its copy would be computed in a loop of C, and read outside of it
         t.s.compute_at(t.s.cache_read(weft::input_handle<2>{0}, t.C), t.i);
         static_cast<void>(t.s.cache_write(t.C));
       },
       late},
      {[](scheduled& t) {
         auto const acc = t.s.cache_write(t.C);
         t.s.compute_at(acc, t.i);
         static_cast<void>(t.s.cache_write(acc));
       },
       late},
      {[](scheduled& t) {
         static_cast<void>(t.s.cache_write(weft::stage_handle<3, 2>{9, {}}));
       },
       diagnosis::the_stage_is_none_of_this_schedule},
      {[](scheduled& t) { static_cast<void>(t.s.cache_write(t.C)), t.s.reorder(t.k, t.i); },
       diagnosis::the_axis_is_gone__use_those_of_the_handle_that_its_step_returned},
      {[](scheduled& t) {
         auto const acc = t.s.cache_write(t.C);
         t.s.compute_at(acc, t.k);
       },
       diagnosis::the_axis_is_gone__use_those_of_the_handle_that_its_step_returned},
  };
  for (auto const& c : cases) {
    scheduled t;
    c.steps(t);
    CHECK(t.why() == c.why);
    CHECK(explain(t.s, "k").find("  try   ") != std::string::npos);
    if (c.why != diagnosis::the_stage_is_none_of_this_schedule)  // which has no name
      CHECK(weft::parse_trace(weft::print_trace(t.s), weft::schedule(t.p, all_extents{16})) == t.s.steps);
  }
}

TEST_CASE("cache_write: the copy of a scan walks its axes in any order") {
  weft::program p;
  weft::expr::tensor<float, 2> const A{&p, p.add_input(weft::short_name("A"), weft::dtype::f32, 2)};
  p.outputs.push_back(weft::compute<"C">(A.extent(0), A.extent(1), [=](auto i, auto j) {
                        return weft::sum(weft::up_to(j), [=](auto k) { return A(i, k); });
                      }).id);
  p = weft::canonical(p);
  auto const state = [&](std::string const& steps) {
    weft::schedule s(p, all_extents{16});
    weft::replay(s, weft::parse_trace("C: cache_write()\n" + steps, s));
    return s.state;
  };
  for (char const* step : {"vectorize(j)", "parallel(j)", "fuse(i, j) -> ij", "split(j, 5, shift_inwards) -> jo, ji"}) {
    CAPTURE(step);
    CHECK(state(std::string("C: ") + step + "\n") == verdict::legal);
    CHECK(state(std::string("C_acc: ") + step + "\n") == verdict::illegal);
  }
}
