#include "../programs.hpp"

#include <doctest/doctest.h>

#include "weft/schedule/print.hpp"

using namespace weft_test;
using weft::axis, weft::diagnosis, weft::verdict;

namespace {
constexpr std::int64_t most = std::int64_t(1) << 62;
struct scheduled {
  weft::program p = matmul();
  weft::schedule s;
  axis i, j, k;
  explicit scheduled(std::int64_t extent)
      : s(p, all_extents{extent}), i{s.order[0][0]}, j{s.order[0][1]}, k{s.order[0][2]} {}
  diagnosis why() const { return s.failed < 0 ? s.fault : s.steps[static_cast<std::size_t>(s.failed)].reason; }
};
/// A sum over three axes, of 2^21 iterations each.
weft::program long_sum(std::int64_t extent) {
  weft::program p;
  weft::expr::tensor<float, 1> const A{&p, p.add_input(weft::short_name("A"), weft::dtype::f32, 1)};
  auto const C = weft::compute<"C">(A.extent(0), [=](auto i) {
    return weft::sum(extent, extent, extent, [=](auto, auto, auto) { return A(i); });
  });
  p.outputs.push_back(C.id);
  return weft::canonical(p);
}
}  // namespace

TEST_CASE("fuse keeps every iteration, in the same order") {
  for (std::int64_t extent : {0, 1, 3, 5, 8}) {
    CAPTURE(extent);
    scheduled t(extent);
    auto const before = points(t.s, 0);
    axis const ij = t.s.fuse(t.i, t.j);
    CHECK(points(t.s, 0) == before);
    CHECK(t.s.at(ij.id).extent == extent * extent);
    auto const [fo, fi] = t.s.split(ij, 3);
    CHECK(points(t.s, 0) == before);
    axis const again = t.s.fuse(fo, fi);
    CHECK(points(t.s, 0) == before);
    t.s.split(again, 4);
    CHECK(points(t.s, 0) == before);
    CHECK(t.s.state == verdict::legal);
  }
}
TEST_CASE("fuse of parts: of one axis, and of several") {
  for (std::int64_t extent : {1, 4, 6, 7}) {
    CAPTURE(extent);
    scheduled t(extent);
    auto const before = points(t.s, 0);
    auto const [io, ii] = t.s.split(t.i, 3);
    auto const [jo, ji] = t.s.split(t.j, 4);
    axis const all = t.s.fuse(io, ii, jo, ji);
    CHECK(points(t.s, 0) == before);
    CHECK(loop_names(t.s, 0) == "ioiijoji k");
    t.s.split(all, 5);
    CHECK(points(t.s, 0) == before);
  }
}
TEST_CASE("fuse of reduced axes is reduced, of spatial ones it can be marked") {
  weft::program const p = long_sum(4);
  weft::schedule s(p, all_extents{4});
  axis const jkl = s.fuse(axis{1}, axis{2}, axis{3});
  CHECK(s.at(jkl.id).reduced);
  CHECK(s.at(jkl.id).extent == 64);
  s.vectorize(jkl);
  CHECK(s.steps[1].reason == diagnosis::a_reduction_axis_cannot_be_vectorized__use_rfactor);
  scheduled t(8);
  auto const [fo, fi] = t.s.split(t.s.fuse(t.i, t.j), 8);
  t.s.parallel(fo);
  t.s.vectorize(fi);
  CHECK(t.s.state == verdict::legal);
}
TEST_CASE("a trace with fuse is printed and read again") {
  scheduled t(6);
  auto const [io, ii] = t.s.split(t.i, 4);
  axis const f = t.s.fuse(ii, t.j);
  t.s.split(f, 5);
  static_cast<void>(io);
  CHECK(weft::print_trace(t.s) == "C: split(i, 4) -> io, ii\nC: fuse(ii, j) -> iij\nC: split(iij, 5) -> iijo, iiji\n");
  weft::schedule const fresh(t.p, all_extents{6});
  CHECK(weft::parse_trace(weft::print_trace(t.s), fresh) == t.s.steps);
  CHECK(weft::print_loops(t.s) == R"(C
  for io in 0..2
    for iijo in 0..5
      for iiji in 0..5
        for k in 0..6
          C[i, j] += A[i, k] * B[k, j]
  where i = io*4 + (iijo*5 + iiji) / 6, j = (iijo*5 + iiji) % 6
)");
  auto const error_of = [&](char const* text) {
    try {
      weft::parse_trace(text, fresh);
    } catch (weft::parse_error const& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  CHECK(error_of("C: fuse(i)").find("this step takes at least 2 axes") != std::string::npos);
  CHECK(error_of("C: fuse(i, j) -> j").find("the fuse gives its parts other names") != std::string::npos);
  CHECK(weft::parse_trace("C: fuse(i, j)\nC: unroll(ij)", fresh).size() == 2);
}
TEST_CASE("the loops of fused axes of sizes that are not numbers") {
  scheduled t(-1);
  t.s.fuse(t.i, t.j);
  CHECK(t.s.state == verdict::deferred);
  CHECK(weft::print_loops(t.s).find("for ij in 0..A.extent(0)*B.extent(1)") != std::string::npos);
  CHECK(weft::print_loops(t.s).find("where i = ij / B.extent(1), j = ij % B.extent(1)") != std::string::npos);
  weft::program const p = matmul();
  weft::schedule open(p, all_extents{-1000});
  axis const ij = open.fuse(axis{open.order[0][0]}, axis{open.order[0][1]});
  CHECK(open.state == verdict::legal);
  CHECK(open.at(ij.id).extent == weft::open_trips);
}
TEST_CASE("what cannot be fused, why, and a way out") {
  struct {
    void (*steps)(scheduled&);
    diagnosis why;
    char const* way;
  } const cases[] = {
      {[](scheduled& t) { t.s.fuse(t.i, t.k); }, diagnosis::a_reduction_axis_and_a_spatial_one_cannot_be_fused,
       "one fuse of spatial axes, and one of those of the reduction"},
      {[](scheduled& t) { t.s.fuse(t.j, t.i); },
       diagnosis::the_axes_do_not_stand_directly_inside_each_other__reorder_first, "reorder(j, i, k) before it"},
      {[](scheduled& t) {
         t.s.reorder(t.i, t.k, t.j);
         t.s.fuse(t.i, t.j);
       },
       diagnosis::the_axes_do_not_stand_directly_inside_each_other__reorder_first, "reorder(i, j, k) before it"},
      {[](scheduled& t) { t.s.fuse(t.i, t.i); }, diagnosis::an_axis_is_named_twice, "naming each axis once: i, j, k"},
      {[](scheduled& t) {
         t.s.vectorize(t.j);
         t.s.fuse(t.i, t.j);
       },
       diagnosis::the_axis_is_unrolled_vectorized_or_parallel_already, "fuse of j before it is marked, or one of i, k"},
      {[](scheduled& t) {
         t.s.fuse(t.i, t.j);
         t.s.split(t.j, 4);
       },
       diagnosis::the_axis_was_fused_already, "ij"},
      {[](scheduled& t) {
         t.s.split(t.i, 4);
         t.s.fuse(t.i, t.j);
       },
       diagnosis::the_axis_was_split_already, "one of io, ii"},
      {[](scheduled& t) { t.s.fuse(axis{}, t.j); }, diagnosis::the_axis_belongs_to_no_stage_of_this_schedule, "one of i, j, k"},
  };
  for (auto const& c : cases) {
    scheduled t(16);
    c.steps(t);
    CHECK(t.why() == c.why);
    INFO(explain(t.s, "k"));
    CHECK(explain(t.s, "k").find(std::string("\n  try   ") + c.way) != std::string::npos);
  }
}
TEST_CASE("axes of different stages, and one in which a stage is computed, are not fused") {
  weft::program const p = two_stages();
  weft::schedule s(p, all_extents{8});
  s.fuse(axis{s.order[1][0]}, axis{s.order[0][0]});
  CHECK(s.steps[0].reason == diagnosis::the_axes_belong_to_different_stages);
  CHECK(explain(s, "k").find("one fuse per stage") != std::string::npos);
  weft::schedule t(p, all_extents{8});
  auto const D = weft::handle_of<2>(t, 1);
  t.compute_at(weft::handle_of<2, 1>(t, 0), D.all[1]);
  t.fuse(D.all[0], D.all[1]);
  CHECK(t.steps[1].reason == diagnosis::a_stage_is_computed_inside_this_axis__fuse_it_before_compute_at);
}
TEST_CASE("a vectorized axis keeps other parts of its axes out, also those that went into a fused one") {
  scheduled t(16);
  auto const [io, ii] = t.s.split(t.i, 4);
  t.s.fuse(ii, t.j);
  t.s.vectorize(io);
  CHECK(t.why() == diagnosis::an_inner_part_of_this_axis_runs_inside_it__vectorize_that_part);
  scheduled u(16);
  auto const [jo, ji] = u.s.split(u.j, 4);
  axis const f = u.s.fuse(u.i, jo);
  u.s.vectorize(f);
  CHECK(u.why() == diagnosis::an_inner_part_of_this_axis_runs_inside_it__vectorize_that_part);
  scheduled v(16);
  auto const [jo2, ji2] = v.s.split(v.j, 4);
  axis const g = v.s.fuse(v.i, jo2);
  v.s.reorder(ji2, g);
  v.s.vectorize(g);
  CHECK(v.s.state == verdict::legal);
  v.s.reorder(g, ji2);
  CHECK(v.why() == diagnosis::an_inner_part_of_this_axis_runs_inside_it__vectorize_that_part);
  static_cast<void>(ji);
}
TEST_CASE("a fused axis runs at most 2^62 times") {
  for (std::int64_t extent : {std::int64_t(1) << 20, (std::int64_t(1) << 21) + 1}) {
    weft::program const p = long_sum(extent);
    weft::schedule s(p, all_extents{4});
    s.fuse(axis{1}, axis{2}, axis{3});
    CHECK((s.state == verdict::legal) == (extent == std::int64_t(1) << 20));
    if (s.state == verdict::legal) CHECK(s.at(s.order[0][1]).extent == std::int64_t(1) << 60);
    else CHECK(s.steps[0].reason == diagnosis::the_fused_axis_would_run_more_than_2_to_the_62_times);
  }
  weft::program const p = matmul();
  weft::schedule open(p, all_extents{-1000});  // as many as a factor says, where the size may be smaller
  auto const [jo, ji] = open.split(axis{open.order[0][1]}, std::int64_t(1) << 40);
  open.fuse(jo, ji);
  CHECK(open.steps[1].reason == diagnosis::the_fused_axis_would_run_more_than_2_to_the_62_times);
  CHECK(most > 0);
}

constexpr auto fuses_well = [](auto& s, auto i, auto j, auto k) {
  auto const ij = s.fuse(i, j);
  auto const [fo, fi] = s.split(ij, 16);
  s.reorder(fo, k, fi);
  s.parallel(fo);
  s.vectorize(fi);
};
static_assert(is(judge_matmul(32, fuses_well), verdict::legal));
static_assert(judge_matmul(-1, fuses_well).state == verdict::deferred);
static_assert(judge_matmul(-1, fuses_well).steps == 5);
