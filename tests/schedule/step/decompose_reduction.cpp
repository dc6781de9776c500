#include "../programs.hpp"

#include <doctest/doctest.h>

#include "weft/expr/text.hpp"
#include "weft/schedule/print.hpp"

using namespace weft_test;
using weft::diagnosis;
using weft::verdict;

namespace {
struct scheduled {
  weft::program p = two_stages();
  weft::schedule s{p, all_extents{20}};
  weft::stage_handle<2, 1> C = weft::handle_of<2, 1>(s, 0);
  weft::stage_handle<2> D = weft::handle_of<2>(s, 1);
  diagnosis why() const { return s.failed < 0 ? s.fault : s.steps[static_cast<std::size_t>(s.failed)].reason; }
};
}  // namespace

TEST_CASE("decompose_reduction: the identity is stored in front of a loop") {
  scheduled t;
  auto const [i, k] = t.C.axes();
  auto const [ko, ki] = t.s.split(k, 4);
  auto const [io, ii] = t.s.split(i, 8);
  t.s.reorder(io, ko, ii, ki);
  t.s.decompose_reduction(t.C, ko);
  CHECK(t.s.state == verdict::legal);
  CHECK(weft::print_loops(t.s).substr(0, weft::print_loops(t.s).find("D\n")) == R"(C
  for io in 0..3
    C[i] = -inf over ii
    for jo in 0..5
      for ii in 0..8
        for ji in 0..4
          C[i] max= A[i, j]
  where i = io*8 + ii, j = jo*4 + ji
)");
  CHECK(weft::print_trace(t.s).find("C: decompose_reduction(C, jo)\n") != std::string::npos);
  CHECK(weft::parse_trace(weft::print_trace(t.s), weft::schedule(t.p, all_extents{20})) == t.s.steps);
}
TEST_CASE("decompose_reduction: what cannot be") {
  struct {
    void (*steps)(scheduled&);
    diagnosis why;
  } const cases[] = {
      {[](scheduled& t) { t.s.decompose_reduction(t.D, t.D.axes()[0]); }, diagnosis::the_stage_reduces_nothing},
      {[](scheduled& t) { t.s.decompose_reduction(t.C, t.D.axes()[0]); }, diagnosis::the_stage_does_not_have_this_axis},
      {[](scheduled& t) { t.s.decompose_reduction(weft::stage_handle<1>{}, t.D.axes()[0]); },
       diagnosis::the_stage_is_none_of_this_schedule},
      {[](scheduled& t) { t.s.decompose_reduction(t.C, weft::axis{}); },
       diagnosis::the_axis_belongs_to_no_stage_of_this_schedule},
      {[](scheduled& t) {
         t.s.reorder(t.C.axes()[1], t.C.axes()[0]);
         t.s.decompose_reduction(t.C, t.C.axes()[0]);
       },
       diagnosis::a_reduced_axis_runs_outside_of_this_one__the_identity_is_stored_once},
      {[](scheduled& t) {
         t.s.decompose_reduction(t.C, t.C.axes()[0]);
         t.s.reorder(t.C.axes()[1], t.C.axes()[0]);
       },
       diagnosis::a_reduced_axis_runs_outside_of_this_one__the_identity_is_stored_once},
      {[](scheduled& t) {
         t.s.decompose_reduction(t.C, t.C.axes()[0]);
         static_cast<void>(t.s.split(t.C.axes()[0], 4));
       },
       diagnosis::the_identity_is_stored_in_front_of_this_axis__split_it_first},
      {[](scheduled& t) {
         auto const [io, ii] = t.s.split(t.C.axes()[0], 4);
         t.s.decompose_reduction(t.C, io);
         static_cast<void>(t.s.fuse(io, ii));
       },
       diagnosis::the_identity_is_stored_in_front_of_this_axis__split_it_first},
      {[](scheduled& t) {
         t.s.decompose_reduction(t.C, t.C.axes()[1]);
         static_cast<void>(t.s.cache_write(t.C));
       },
       diagnosis::the_stage_was_scheduled_already__this_step_comes_before_all_others_on_it},
      {[](scheduled& t) {
         t.s.decompose_reduction(t.C, t.C.axes()[1]);
         static_cast<void>(t.s.rfactor(t.C, t.C.axes()[1], 4));
       },
       diagnosis::the_identity_is_stored_in_front_of_this_axis__split_it_first},
  };
  for (auto const& c : cases) {
    scheduled t;
    c.steps(t);
    CHECK(t.why() == c.why);
    std::string const said = explain(t.s, "k");
    INFO(said);
    CHECK(said.find("  try   ") != std::string::npos);
    CHECK(said.find("another step") == std::string::npos);
    CHECK(weft::parse_trace(weft::print_trace(t.s), weft::schedule(t.p, all_extents{20})) == t.s.steps);
  }
}
