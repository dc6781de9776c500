#include "../programs.hpp"

#include <doctest/doctest.h>

#include <string>

#include "weft/schedule/print.hpp"

using namespace weft_test;
using weft::diagnosis;
using weft::verdict;

namespace {
/// a -> b -> c, c the output; b also reads what a reads. Rank 2.
weft::program chain(bool second_reader = false) {
  weft::program p;
  weft::expr::tensor<float, 2> const x{&p, p.add_input(weft::short_name("x"), weft::dtype::f32, 2)};
  auto const a = weft::compute<"a">(x.extent(0), x.extent(1), [=](auto i, auto j) { return x(i, j) + x(i, j); });
  auto const b = weft::compute<"b">(x.extent(0) - 1, x.extent(1), [=](auto i, auto j) { return a(i, j) + a(i + 1, j); });
  auto const c = weft::compute<"c">(x.extent(0) - 1, x.extent(1), [=](auto i, auto j) {
    return second_reader ? b(i, j) + a(i, j) : b(i, j) + b(i, j);
  });
  p.outputs.push_back(c.id);
  return weft::canonical(p);
}
struct scheduled {
  weft::program p;
  weft::schedule s;
  weft::stage_handle<2> a, b, c;
  weft::axis ai, aj, bi, bj, ci, cj;
  explicit scheduled(bool second_reader = false)
      : p(chain(second_reader)), s(p, all_extents{16}), a(handle_of<2>(s, 0)), b(handle_of<2>(s, 1)),
        c(handle_of<2>(s, 2)), ai(a.all[0]), aj(a.all[1]), bi(b.all[0]), bj(b.all[1]), ci(c.all[0]), cj(c.all[1]) {}
  diagnosis why() const { return s.failed < 0 ? s.fault : s.steps[static_cast<std::size_t>(s.failed)].reason; }
};
}  // namespace

TEST_CASE("a stage is computed in a loop inside which all that read it run") {
  scheduled t;
  t.s.compute_at(t.b, t.ci);
  t.s.compute_at(t.a, t.bj);
  CHECK(t.s.state == verdict::legal);
  CHECK(weft::print_loops(t.s) == R"(c
  for i in 0..15
    b
      for i in 0..part(15)
        for j in 0..part(16)
          a
            for i in 0..part(16)
              for j in 0..part(16)
                a[i, j] = x[i, j] + x[i, j]
          b[i, j] = a[i, j] + a[i + 1, j]
    for j in 0..16
      c[i, j] = b[i, j] + b[i, j]
)");
}
TEST_CASE("one reader outside of the loop is enough to refuse it") {
  scheduled t(true);
  t.s.compute_at(t.b, t.ci);
  t.s.compute_at(t.a, t.bi);
  CHECK(t.why() == diagnosis::a_stage_that_reads_it_runs_outside_of_this_axis__compute_it_further_out);
  scheduled further_out(true);
  further_out.s.compute_at(further_out.b, further_out.cj);
  further_out.s.compute_at(further_out.a, further_out.ci);
  CHECK(further_out.s.state == verdict::legal);
}
TEST_CASE("an inlined reader counts by those that read it") {
  scheduled t;
  t.s.compute_inline(t.b);
  t.s.compute_at(t.a, t.ci);
  CHECK(t.s.state == verdict::legal);
  scheduled later;
  later.s.compute_at(later.a, later.bi);
  later.s.compute_inline(later.b);
  CHECK(later.why() == diagnosis::a_stage_that_others_are_computed_in_cannot_be_inlined);
  scheduled inside;
  inside.s.compute_inline(inside.b);
  inside.s.compute_at(inside.a, inside.bi);
  CHECK(inside.why() == diagnosis::the_stage_of_this_axis_is_inlined__it_has_no_loops);
}
TEST_CASE("outputs, strangers and circles are refused") {
  scheduled t;
  t.s.compute_at(t.c, t.bi);
  CHECK(t.why() == diagnosis::an_output_is_computed_in_a_nest_of_its_own);
  scheduled stranger;
  stranger.s.compute_root(weft::stage_handle<1>{});
  CHECK(stranger.why() == diagnosis::the_stage_is_none_of_this_schedule);
  scheduled itself;
  itself.s.compute_at(itself.a, itself.ai);
  CHECK(itself.why() == diagnosis::a_stage_cannot_be_computed_inside_itself);
  scheduled circle;
  circle.s.compute_at(circle.a, circle.bi);
  circle.s.compute_at(circle.b, circle.ai);
  CHECK(circle.why() == diagnosis::a_stage_cannot_be_computed_inside_itself);
}
TEST_CASE("marks and placements are held against each other in either order") {
  scheduled vector_first;
  vector_first.s.vectorize(vector_first.ci);
  vector_first.s.compute_at(vector_first.b, vector_first.cj);
  CHECK(vector_first.why() == diagnosis::a_stage_cannot_be_computed_inside_an_unrolled_or_vectorized_axis);
  scheduled vector_later;
  vector_later.s.compute_at(vector_later.b, vector_later.cj);
  vector_later.s.unroll(vector_later.ci);
  CHECK(vector_later.why() == diagnosis::a_stage_cannot_be_computed_inside_an_unrolled_or_vectorized_axis);
  scheduled reordered;
  reordered.s.compute_at(reordered.b, reordered.ci);
  reordered.s.vectorize(reordered.cj);
  reordered.s.reorder(reordered.cj, reordered.ci);
  CHECK(reordered.why() == diagnosis::a_stage_cannot_be_computed_inside_an_unrolled_or_vectorized_axis);
  scheduled parallels;
  parallels.s.parallel(parallels.bi);
  parallels.s.compute_at(parallels.b, parallels.cj);
  parallels.s.parallel(parallels.ci);
  CHECK(parallels.why() == diagnosis::a_parallel_axis_cannot_run_inside_a_parallel_axis_of_another_stage);
  scheduled split;
  split.s.compute_at(split.b, split.ci);
  split.s.split(split.ci, 4);
  CHECK(split.why() == diagnosis::a_stage_is_computed_inside_this_axis__split_it_before_compute_at);
  scheduled other_axis;
  other_axis.s.compute_at(other_axis.b, other_axis.ci);
  other_axis.s.split(other_axis.cj, 4);
  CHECK(other_axis.s.state == verdict::legal);
}
TEST_CASE("compute_root takes a placement back, but not from under a stage that hangs on it") {
  scheduled t;
  t.s.compute_at(t.b, t.ci);
  t.s.compute_root(t.b);
  CHECK(t.s.places[1] == weft::placement());
  scheduled held(true);
  held.s.compute_at(held.b, held.ci);
  held.s.compute_at(held.a, held.ci);
  held.s.compute_root(held.b);
  CHECK(held.why() == diagnosis::a_stage_that_reads_it_runs_outside_of_this_axis__compute_it_further_out);
}
TEST_CASE("a trace with placements is read back as it was printed") {
  scheduled t;
  t.s.split(t.ci, 4);
  t.s.compute_at(t.b, weft::axis{t.s.at(t.ci.id).outer});
  t.s.compute_inline(t.a);
  t.s.compute_root(t.a);
  std::string const text = weft::print_trace(t.s);
  CHECK(text == "c: split(i, 4) -> io, ii\nb: compute_at(c, io)\na: compute_inline()\na: compute_root()\n");
  CHECK(weft::parse_trace(text, weft::schedule(t.p, all_extents{16})) == t.s.steps);
  weft::schedule again(t.p, all_extents{16});
  CHECK(weft::replay(again, t.s.steps));
  CHECK(weft::print_loops(again) == weft::print_loops(t.s));
}
TEST_CASE("a refused placement is explained with the loops that it was to stand in") {
  scheduled t(true);
  t.s.compute_at(t.a, t.bj);
  CHECK(weft::explain(t.s, "k") == R"(compute_at: a stage that reads it runs outside of this axis; compute it further out, or that stage further in
  in    schedule of k, step 1: a: compute_at(b, j)
  nest  i(15) > j(16)
                ^
  try   leaving this step out, or compute_root)");
}
