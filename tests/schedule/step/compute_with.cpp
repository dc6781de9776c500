#include "../programs.hpp"

#include <doctest/doctest.h>

#include <string>

#include "weft/schedule/print.hpp"

using namespace weft_test;
using weft::diagnosis;
using weft::verdict;

namespace {
/// Two stages that do not know each other, and one that reads the first: dx, dy, both of rank 2, and the row sums of dx.
weft::program gradients() {
  weft::program p;
  weft::expr::tensor<float, 2> const x{&p, p.add_input(weft::short_name("x"), weft::dtype::f32, 2)};
  auto const n = x.extent(0), m = x.extent(1);
  auto const dx = weft::compute<"dx">(n, m, [=](auto i, auto j) { return x(i, j) * 2.0f; });
  auto const dy = weft::compute<"dy">(n, m, [=](auto i, auto j) { return x(i, j) * 3.0f; });
  auto const rows = weft::compute<"rows">(n, [=](auto i) { return weft::sum(m, [=](auto k) { return dx(i, k); }); });
  auto const wide = weft::compute<"wide">(n, m + 1, [=](auto i, auto) { return x(i, i); });
  p.outputs.push_back(dy.id);
  p.outputs.push_back(rows.id);
  p.outputs.push_back(wide.id);
  return weft::canonical(p);
}
struct scheduled {
  weft::program p = gradients();
  weft::schedule s;
  weft::stage_handle<2> dx, dy, wide;
  weft::stage_handle<2, 1> rows;
  explicit scheduled(std::int64_t extent = 16)
      : s(p, all_extents{extent}), dx(weft::handle_of<2>(s, 0)), dy(weft::handle_of<2>(s, 1)), wide(weft::handle_of<2>(s, 3)),
        rows(weft::handle_of<2, 1>(s, 2)) {}
  diagnosis why() const { return s.failed < 0 ? s.fault : s.steps[static_cast<std::size_t>(s.failed)].reason; }
};
}  // namespace

TEST_CASE("compute_with: a stage in the loops of one that does not read it, outputs, too") {
  scheduled t;
  auto const [io, ii] = t.s.split(t.dx.all[0], 5);
  t.s.parallel(io);
  t.s.compute_with(t.dy, ii);
  CHECK(t.s.state == verdict::legal);
  CHECK(weft::print_loops(t.s) == R"(dx
  parallel io in 0..4
    for ii in 0..5
      dy with dx
        for i in 0..part(16)
          for j in 0..part(16)
            dy[i, j] = x[i, j] * 3
      for j in 0..16
        dx[i, j] = x[i, j] * 2
  where i = io*5 + ii
rows
  for i in 0..16
    for j in 0..16
      rows[i] += dx[i, j]
wide
  for i in 0..16
    for j in 0..17
      wide[i, j] = x[i, i]
)");
  CHECK(weft::print_trace(t.s) == "dx: split(i, 5) -> io, ii\ndx: parallel(io)\ndy: compute_with(dx, ii)\n");
  CHECK(weft::parse_trace(weft::print_trace(t.s), weft::schedule(t.p, all_extents{16})) == t.s.steps);
}
TEST_CASE("compute_with: extents that only the call knows are compared there; those of one size are equal before") {
  scheduled t(-1);
  t.s.compute_with(t.dy, t.dx.all[1]);
  CHECK(t.s.state == verdict::legal);
  t.s.compute_with(t.wide, t.dx.all[0]);
  CHECK(t.s.state == verdict::legal);
  t.s.compute_with(t.wide, t.dx.all[1]);
  CHECK(t.s.state == verdict::deferred);
}
TEST_CASE("compute_root takes it back, where the stage is no output") {
  scheduled t;
  t.s.compute_with(t.dx, t.dy.all[0]);
  t.s.compute_root(t.dx);
  CHECK(t.s.state == verdict::legal);
  CHECK(t.s.places[0] == weft::placement());
}
TEST_CASE("compute_with: what is refused") {
  struct {
    void (*steps)(scheduled&);
    diagnosis why;
  } const cases[] = {
      {[](scheduled& t) {  // found by fuzzing: elements 0 .. 13 of dy in the first iteration, 1 .. 14 in the second
         auto const [io, ii] = t.s.split(t.dx.all[0], 4);
         t.s.parallel(ii);
         t.s.reorder(ii, io);
         t.s.compute_with(t.dy, ii);
       },
       diagnosis::iterations_of_a_parallel_axis_would_share_elements__reorder_or_let_parts_divide},
      {[](scheduled& t) {  // 5 elements of which the parts of three have 6
         auto const [io, ii] = t.s.split(t.dx.all[0], 5);
         t.s.parallel(io);
         t.s.compute_with(t.dy, t.s.split(ii, 3)[0]);
       },
       diagnosis::iterations_of_a_parallel_axis_would_share_elements__reorder_or_let_parts_divide},
      {[](scheduled& t) {  // rows of 16 in pieces of 12
         auto const [o, v] = t.s.split(t.s.fuse(t.dx.all[0], t.dx.all[1]), 12);
         t.s.parallel(o);
         t.s.compute_with(t.dy, o);
       },
       diagnosis::iterations_of_a_parallel_axis_would_share_elements__reorder_or_let_parts_divide},
      {[](scheduled& t) { t.s.compute_with(t.dx, t.rows.all[0]); }, diagnosis::one_of_the_stages_needs_the_other__use_compute_at},
      {[](scheduled& t) { t.s.compute_with(t.rows, t.dx.all[0]); }, diagnosis::one_of_the_stages_needs_the_other__use_compute_at},
      {[](scheduled& t) { t.s.compute_with(t.dy, t.dy.all[0]); }, diagnosis::a_stage_cannot_be_computed_inside_itself},
      {[](scheduled& t) { t.s.compute_with(t.dy, t.wide.all[1]); },
       diagnosis::the_stages_differ_in_an_axis_that_they_would_share},
      {[](scheduled& t) { t.s.compute_with(t.rows, t.dy.all[1]); },
       diagnosis::the_stages_differ_in_an_axis_that_they_would_share},
      {[](scheduled& t) { t.s.compute_with(t.dy, t.rows.all[1]); },
       diagnosis::a_reduced_axis_runs_outside_of_this_one__no_element_is_complete_there},
      {[](scheduled& t) { t.s.vectorize(t.dx.all[1]), t.s.compute_with(t.dy, t.dx.all[1]); },
       diagnosis::a_stage_cannot_be_computed_inside_an_unrolled_or_vectorized_axis},
      {[](scheduled& t) { t.s.compute_with(t.dy, t.dx.all[0]), t.s.compute_with(t.wide, t.dy.all[0]); },
       diagnosis::the_stage_of_this_axis_is_computed_inside_another__compute_with_takes_one_that_is_not},
      {[](scheduled& t) { t.s.compute_with(t.dy, t.dx.all[0]), t.s.compute_at(t.dx, t.rows.all[0]); },
       diagnosis::the_stage_of_this_axis_is_computed_inside_another__compute_with_takes_one_that_is_not},
      {[](scheduled& t) { t.s.compute_inline(t.dx), t.s.compute_with(t.dy, t.dx.all[0]); },
       diagnosis::the_stage_of_this_axis_is_inlined__it_has_no_loops},
      {[](scheduled& t) { t.s.compute_with(t.dx, t.dy.all[0]), t.s.store_root(t.dx); },
       diagnosis::a_stage_beside_another_has_its_whole_memory},
      {[](scheduled& t) { t.s.compute_with(t.dy, t.dx.all[0]), t.s.split(t.dx.all[0], 2); },
       diagnosis::a_stage_is_computed_inside_this_axis__split_it_before_compute_at},
  };
  for (auto const& c : cases) {
    scheduled t;
    c.steps(t);
    CAPTURE(weft::print_trace(t.s));
    CHECK(t.s.state == verdict::illegal);
    CHECK(t.why() == c.why);
  }
}

TEST_CASE("compute_with: no nest waits for another that waits for it") {
  weft::program p;
  weft::expr::tensor<float, 1> const x{&p, p.add_input(weft::short_name("x"), weft::dtype::f32, 1)};
  auto const n = x.extent(0);
  auto const a = weft::compute<"a">(n, [=](auto i) { return x(i) * 2.0f; });
  auto const b = weft::compute<"b">(n, [=](auto i) { return x(i) * 3.0f; });
  auto const c = weft::compute<"c">(n, [=](auto i) { return a(i) + 1.0f; });
  auto const d = weft::compute<"d">(n, [=](auto i) { return b(i) + 1.0f; });
  p.outputs.push_back(c.id);
  p.outputs.push_back(d.id);
  p = weft::canonical(p);
  for (bool const other_first : {false, true}) {
    weft::schedule s(p, all_extents{16});
    auto const in_c = [&] { s.compute_with(weft::stage<"b", 1>(s), weft::stage<"c", 1>(s).all[0]); };
    auto const in_d = [&] { s.compute_with(weft::stage<"a", 1>(s), weft::stage<"d", 1>(s).all[0]); };
    if (other_first) in_d();
    in_c();
    CHECK(s.state == (other_first ? verdict::illegal : verdict::legal));  // b in the nest of c, which waits for a in that of d
    if (!other_first) in_d();
    CHECK(s.state == verdict::illegal);
    CHECK(s.steps.back().reason == diagnosis::one_of_the_stages_needs_the_other__use_compute_at);
  }
}

TEST_CASE("compute_with: in parallel loops whose iterations have elements of their own, as far as extents are known") {
  auto const fused = [](std::int64_t extent, std::int64_t factor, bool part) {
    scheduled t(extent);
    auto const [o, v] = t.s.split(t.s.fuse(t.dx.all[0], t.dx.all[1]), factor);
    t.s.parallel(o);
    t.s.compute_with(t.dy, part ? t.s.split(v, 4)[0] : o);
    return t.s.state;
  };
  for (std::int64_t factor : {1, 4, 8, 16, 32, 80, 256}) CHECK(fused(16, factor, false) == verdict::legal);
  for (std::int64_t factor : {3, 12, 24, 100}) CHECK(fused(16, factor, false) == verdict::illegal);
  CHECK(fused(16, 8, true) == verdict::legal);
  CHECK(fused(16, 6, true) == verdict::illegal);
  CHECK(fused(0, 3, false) == verdict::legal);
  CHECK(fused(-1, 8, false) == verdict::deferred);
  CHECK(fused(weft::open_extent, 8, false) == verdict::illegal);
  scheduled t;  // the last part of the whole axis need not be full
  auto const parts = t.s.split(t.dx.all[0], 2, 5);
  t.s.parallel(parts[0]);
  t.s.compute_with(t.dy, parts[1]);
  CHECK(t.s.state == verdict::legal);
}
