#include "../programs.hpp"

#include <doctest/doctest.h>

#include "weft/schedule/print.hpp"

using namespace weft_test;
using weft::axis;
using weft::diagnosis;
using weft::verdict;

namespace {
/// P, a matrix product; C, what becomes of each element; and, with `more`, D, which reads P's neighbours.
weft::program product_and_map(bool more) {
  weft::program p;
  weft::expr::tensor<float, 2> const A{&p, p.add_input(weft::short_name("A"), weft::dtype::f32, 2)};
  weft::expr::tensor<float, 2> const B{&p, p.add_input(weft::short_name("B"), weft::dtype::f32, 2)};
  auto const P = weft::compute<"P">(A.extent(0), B.extent(1), [=](auto i, auto j) {
    return weft::sum(A.extent(1), [=](auto k) { return A(i, k) * B(k, j); });
  });
  auto const C =
      weft::compute<"C">(A.extent(0), B.extent(1), [=](auto i, auto j) { return weft::max(P(i, j), B(0, j)); });
  p.outputs.push_back(C.id);
  if (more) {
    auto const D =
        weft::compute<"D">(A.extent(0) - 1, B.extent(1), [=](auto i, auto j) { return P(i + 1, j) + C(i, j); });
    p.outputs.push_back(D.id);
  }
  return weft::canonical(p);
}
struct scheduled {
  weft::program p;
  weft::schedule s;
  weft::stage_handle<3, 2> P;
  weft::stage_handle<2> C;
  axis i, j, k;
  explicit scheduled(bool more = false)
      : p(product_and_map(more)),
        s(p, all_extents{20}),
        P(weft::handle_of<3, 2>(s, 0)),
        C(weft::handle_of<2>(s, 1)),
        i(P.all[0]),
        j(P.all[1]),
        k(P.all[2]) {}
  diagnosis why() const { return s.failed < 0 ? s.fault : s.steps[static_cast<std::size_t>(s.failed)].reason; }
};
}  // namespace

TEST_CASE("reverse_compute_at: the stage takes the loops over, cut and marked, and what it reads is computed inside") {
  scheduled t;
  auto const [io, jo, ii, ji] = t.s.tile(t.i, t.j, 4, 8);
  t.s.reorder(io, jo, t.k, ii, ji);
  t.s.parallel(io, weft::thread_limit(3));
  t.s.unroll(ii);
  t.s.vectorize(ji);
  auto const [ci, cj] = t.s.reverse_compute_at(t.C, jo);
  t.s.vectorize(cj);
  CHECK(t.s.state == verdict::legal);
  CHECK(loop_names(t.s, 1) == "io jo ii ji");
  CHECK(t.s.at(ci.id).name.view() == "ii");
  CHECK(t.s.at(io.id).threads == 0);
  CHECK(weft::print_loops(t.s) == R"(C
  parallel io in 0..5 by at most 3 threads
    for jo in 0..3
      P
        for io in 0..ceil(part(20)/4)
          for jo in 0..ceil(part(20)/8)
            for k in 0..20
              unrolled ii in 0..4
                vectorized ji in 0..8
                  P[i, j] += A[i, k] * B[k, j]
        where i = io*4 + ii, j = jo*8 + ji
      for ii in 0..4
        vectorized ji in 0..8
          C[i, j] = max(P[i, j], B[0, j])
  where i = io*4 + ii, j = jo*8 + ji
)");
  CHECK(weft::print_trace(t.s).find("C: reverse_compute_at(P, jo)\nC: vectorize(ji)\n") != std::string::npos);
  CHECK(weft::parse_trace(weft::print_trace(t.s), weft::schedule(t.p, all_extents{20})) == t.s.steps);
}
TEST_CASE("reverse_compute_at: an axis that is not cut, and a dimension of which nothing runs inside") {
  scheduled t;
  auto const inside = t.s.reverse_compute_at(t.C, t.i);
  CHECK(t.s.state == verdict::legal);
  CHECK(inside[0].id == -1);
  CHECK(t.s.at(inside[1].id).name.view() == "j");
}
TEST_CASE("reverse_compute_at: what it refuses") {
  struct {
    bool more;
    void (*steps)(scheduled&);
    diagnosis why;
  } const cases[] = {
      {false, [](scheduled& t) { t.s.reverse_compute_at(t.C, t.k); },
       diagnosis::a_reduced_axis_runs_outside_of_this_one__no_element_is_complete_there},
      {false, [](scheduled& t) { t.s.reorder(t.k, t.i), t.s.reverse_compute_at(t.C, t.i); },
       diagnosis::a_reduced_axis_runs_outside_of_this_one__no_element_is_complete_there},
      {false, [](scheduled& t) { t.s.unroll(t.i), t.s.reverse_compute_at(t.C, t.i); },
       diagnosis::a_stage_cannot_be_computed_inside_an_unrolled_or_vectorized_axis},
      {false, [](scheduled& t) { t.s.reverse_compute_at(t.P, t.C.all[0]); },
       diagnosis::an_output_is_computed_in_a_nest_of_its_own},
      {false, [](scheduled& t) { t.s.reverse_compute_at(t.C, t.C.all[0]); },
       diagnosis::a_stage_cannot_be_computed_inside_itself},
      {false, [](scheduled& t) { t.s.split(t.C.all[0], 4), t.s.reverse_compute_at(t.C, t.i); },
       diagnosis::the_stage_was_scheduled_already__this_step_comes_before_all_others_on_it},
      {false, [](scheduled& t) { t.s.reverse_compute_at(t.C, axis{77}); },
       diagnosis::the_axis_belongs_to_no_stage_of_this_schedule},
      {false,
       [](scheduled& t) {
         t.s.reverse_compute_at(weft::stage_handle<2>{9, {}}, t.i);
       },
       diagnosis::the_stage_is_none_of_this_schedule},
      {true, [](scheduled& t) { t.s.reverse_compute_at(weft::handle_of<2>(t.s, 2), t.i); },
       diagnosis::the_stage_must_read_that_one_at_its_own_index_alone},
      {true, [](scheduled& t) { t.s.reverse_compute_at(t.C, t.i); },
       diagnosis::a_stage_that_reads_it_runs_outside_of_this_axis__compute_it_further_out},
  };
  for (auto const& c : cases) {
    scheduled t(c.more);
    c.steps(t);
    CHECK(t.why() == c.why);
    CHECK(explain(t.s, "k").find("  try   ") != std::string::npos);
    if (c.why != diagnosis::the_stage_is_none_of_this_schedule &&
        c.why != diagnosis::the_axis_belongs_to_no_stage_of_this_schedule)
      CHECK(weft::parse_trace(weft::print_trace(t.s), weft::schedule(t.p, all_extents{20})) == t.s.steps);
  }
}
