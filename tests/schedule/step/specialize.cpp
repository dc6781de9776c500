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
  weft::schedule s{p, all_extents{-1}};
  weft::stage_handle<2, 1> C = weft::handle_of<2, 1>(s, 0);
  weft::stage_handle<2> D = weft::handle_of<2>(s, 1);
  weft::axis i = C.all[0], k = C.all[1], x = D.all[0], y = D.all[1];
  diagnosis why() const { return s.failed < 0 ? s.fault : s.steps[static_cast<std::size_t>(s.failed)].reason; }
};
constexpr auto asks_for_tiles = [](auto& s, auto i, auto j, auto) {
  s.split(i, 8);
  s.specialize(s.extent(i) % 8 == 0 && s.extent(j) == 100);
};
static_assert(is(judge_matmul(-1, asks_for_tiles), verdict::legal));
static_assert(is(judge_matmul(-1, [](auto& s, auto i, auto, auto) { s.specialize(s.extent(s.split(i, 8)[0]) % 8 == 0); }),
                 verdict::illegal, diagnosis::a_condition_is_about_whole_axes__not_about_parts_or_several_fused));
}  // namespace

TEST_CASE("specialize: its conditions stand beside the stage, and in the trace") {
  scheduled t;
  t.s.split(t.x, 8);
  t.s.specialize(t.s.extent(t.x) % 8 == 0 && t.s.extent(t.y) % 16 == 3);
  t.s.specialize(t.s.extent(t.y) == 1024);
  CHECK(t.s.state == verdict::legal);
  std::string const loops = weft::print_loops(t.s);
  CHECK(loops.find("\nD, specialized for extent(i) % 8 == 0 && extent(j) % 16 == 3 or extent(j) == 1024\n") != std::string::npos);
  CHECK(weft::print_trace(t.s) == "D: split(i, 8) -> io, ii\nD: specialize(0, 8, 0, 1, 16, 3)\nD: specialize(1, 0, 1024)\n");
  CHECK(weft::parse_trace(weft::print_trace(t.s), weft::schedule(t.p, all_extents{-1})) == t.s.steps);
}
TEST_CASE("specialize: what cannot be") {
  struct {
    void (*steps)(scheduled&);
    diagnosis why;
  } const cases[] = {
      {[](scheduled& t) { t.s.specialize(t.s.extent(weft::axis{}) % 8 == 0); },
       diagnosis::the_axis_belongs_to_no_stage_of_this_schedule},
      {[](scheduled& t) { t.s.specialize(t.s.extent(t.s.split(t.x, 8)[1]) % 8 == 0); },
       diagnosis::a_condition_is_about_whole_axes__not_about_parts_or_several_fused},
      {[](scheduled& t) { t.s.specialize(t.s.extent(t.s.fuse(t.x, t.y)) % 8 == 0); },
       diagnosis::a_condition_is_about_whole_axes__not_about_parts_or_several_fused},
      {[](scheduled& t) { t.s.specialize(t.s.extent(t.x) % 8 == 0 && t.s.extent(t.i) % 8 == 0); },
       diagnosis::the_axes_belong_to_different_stages},
      {[](scheduled& t) { t.s.specialize(t.s.extent(t.x) % 8 == 8); },
       diagnosis::a_condition_is_a_rest_below_its_divisor_or_an_extent_from_1_on},
      {[](scheduled& t) { t.s.specialize(t.s.extent(t.x) % 8 == -1); },
       diagnosis::a_condition_is_a_rest_below_its_divisor_or_an_extent_from_1_on},
      {[](scheduled& t) { t.s.specialize(t.s.extent(t.x) % 0 == 0); },
       diagnosis::a_condition_is_a_rest_below_its_divisor_or_an_extent_from_1_on},
      {[](scheduled& t) { t.s.specialize(t.s.extent(t.x) % -4 == 0); },
       diagnosis::a_condition_is_a_rest_below_its_divisor_or_an_extent_from_1_on},
      {[](scheduled& t) { t.s.specialize(t.s.extent(t.x) == 0); },
       diagnosis::a_condition_is_a_rest_below_its_divisor_or_an_extent_from_1_on},
      {[](scheduled& t) {
         t.s.compute_at(t.C, t.x);
         t.s.specialize(t.s.extent(t.i) % 8 == 0);
       },
       diagnosis::a_stage_that_runs_inside_another_has_no_copy_of_its_own__specialize_that_one},
      {[](scheduled& t) {
         t.s.specialize(t.s.extent(t.i) % 8 == 0);
         t.s.compute_at(t.C, t.x);
       },
       diagnosis::a_stage_that_runs_inside_another_has_no_copy_of_its_own__specialize_that_one},
      {[](scheduled& t) {
         t.s.specialize(t.s.extent(t.k) % 8 == 0);
         t.s.rfactor(t.C, t.k, 8);
       },
       diagnosis::a_reduced_axis_is_split_or_marked_already__rfactor_first},
      {[](scheduled& t) {
         t.s.specialize(t.s.extent(t.i) % 8 == 0);
         t.s.cache_write(t.C);
       },
       diagnosis::the_stage_was_scheduled_already__this_step_comes_before_all_others_on_it},
  };
  for (auto const& c : cases) {
    scheduled t;
    c.steps(t);
    CAPTURE(weft::sentence(c.why));
    CHECK(weft::sentence(t.why()) == weft::sentence(c.why));
    std::string const story = weft::explain(t.s, "k");
    CHECK(story.find("try   ") != std::string::npos);
    CHECK(story.find("try   another step") == std::string::npos);
  }
}
TEST_CASE("specialize: a spatial axis keeps its conditions when a reduction goes to parts") {
  scheduled t;
  t.s.specialize(t.s.extent(t.i) % 8 == 0);
  t.s.rfactor(t.C, t.k, 8);
  CHECK(t.s.state == verdict::legal);
}
