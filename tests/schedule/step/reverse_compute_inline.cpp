#include "../programs.hpp"

#include <doctest/doctest.h>

#include "weft/schedule/print.hpp"

using namespace weft_test;
using weft::diagnosis;
using weft::verdict;

namespace {
enum class shape { chain, reduction, neighbours, two_read };
/// x -> p -> c, c the output.
weft::program maps(shape kind) {
  weft::program q;
  weft::expr::tensor<float, 1> const x{&q, q.add_input(weft::short_name("x"), weft::dtype::f32, 1)};
  auto const n = x.extent(0);
  auto const z = weft::compute<"z">(n, [=](auto i) { return x(i) * x(i); });
  auto const finish = [&](auto const& p) {
    auto const c = weft::compute<"c">(n - 1, [=](auto i) {
      if (kind == shape::neighbours) return p(i) + p(i + 1);
      if (kind == shape::two_read) return p(i) + z(i);
      return p(i) + x(i);
    });
    q.outputs.push_back(c.id);
    return weft::canonical(q);
  };
  if (kind == shape::reduction)
    return finish(weft::compute<"p">(n, [=](auto i) { return weft::sum(n, [=](auto k) { return z(i) * z(k); }); }));
  return finish(weft::compute<"p">(n, [=](auto i) { return z(i) + 1; }));
}
struct scheduled {
  weft::program p;
  weft::schedule s;
  weft::stage_handle<1> z, middle, c;
  explicit scheduled(shape kind)
      : p(maps(kind)),
        s(p, all_extents{40}),
        z(weft::handle_of<1>(s, 0)),
        middle(weft::handle_of<1>(s, 1)),
        c(weft::handle_of<1>(s, 2)) {}
  diagnosis why() const { return s.failed < 0 ? s.fault : s.steps[static_cast<std::size_t>(s.failed)].reason; }
};
}  // namespace

TEST_CASE("reverse_compute_inline: the stage has the loops of the one that it reads, and what was computed in them") {
  scheduled t(shape::chain);
  auto const [io, ii] = t.s.split(t.middle.all[0], 8);
  t.s.parallel(io);
  t.s.vectorize(ii);
  t.s.compute_at(t.z, io);
  t.s.reverse_compute_inline(t.c);
  CHECK(t.s.state == verdict::legal);
  CHECK(weft::print_loops(t.s) == R"(p inlined
  p[i] = z[i] + 1
c
  parallel io in 0..5
    z
      for i in 0..part(40)
        z[i] = x[i] * x[i]
    vectorized ii in 0..8
      c[i] = p[i] + x[i]
  where i = io*8 + ii
)");
  CHECK(weft::print_trace(t.s).find("c: reverse_compute_inline()\n") != std::string::npos);
  CHECK(weft::parse_trace(weft::print_trace(t.s), weft::schedule(t.p, all_extents{40})) == t.s.steps);
}
TEST_CASE("reverse_compute_inline: behind a reduction the stage has loops like those inside, cut and marked alike") {
  scheduled t(shape::reduction);
  auto const all = weft::handle_of<2>(t.s, 1).all;
  auto const [io, ii] = t.s.split(all[0], 8);
  t.s.reorder(io, all[1], ii);
  t.s.vectorize(ii);
  t.s.reverse_compute_inline(t.c);
  CHECK(t.s.state == verdict::legal);
  CHECK(weft::print_loops(t.s) == R"(z
  for i in 0..40
    z[i] = x[i] * x[i]
c
  for io in 0..5
    p
      for io in 0..ceil(part(40)/8)
        for j in 0..40
          vectorized ii in 0..8
            p[i] += z[i] * z[j]
      where i = io*8 + ii
    vectorized ii in 0..8
      c[i] = p[i] + x[i]
  where i = io*8 + ii
)");
  CHECK(weft::parse_trace(weft::print_trace(t.s), weft::schedule(t.p, all_extents{40})) == t.s.steps);
}
TEST_CASE("reverse_compute_inline: inlined stages between are looked through") {
  scheduled t(shape::chain);
  auto const [io, ii] = t.s.split(t.z.all[0], 8);
  t.s.vectorize(ii);
  t.s.compute_inline(t.middle);
  t.s.reverse_compute_inline(t.c);
  CHECK(t.s.state == verdict::legal);
  CHECK(weft::print_loops(t.s).find("    vectorized ii in 0..8\n      c[i] = p[i] + x[i]\n") != std::string::npos);
}
TEST_CASE("reverse_compute_inline: what it refuses") {
  struct {
    shape kind;
    void (*steps)(scheduled&);
    diagnosis why;
  } const cases[] = {
      {shape::neighbours, [](scheduled& t) { t.s.reverse_compute_inline(t.c); },
       diagnosis::the_stage_must_read_that_one_at_its_own_index_alone},
      {shape::two_read, [](scheduled& t) { t.s.reverse_compute_inline(t.c); },
       diagnosis::the_stage_must_read_that_one_at_its_own_index_alone},
      {shape::chain, [](scheduled& t) { t.s.reverse_compute_inline(t.z); },
       diagnosis::the_stage_must_read_that_one_at_its_own_index_alone},
      {shape::reduction,
       [](scheduled& t) {
         auto const all = weft::handle_of<2>(t.s, 1).all;
         t.s.reorder(all[1], all[0]);
         t.s.reverse_compute_inline(t.c);
       },
       diagnosis::a_reduced_axis_runs_outside_of_this_one__no_element_is_complete_there},
      {shape::reduction,
       [](scheduled& t) {
         t.s.compute_at(t.z, t.middle.all[0]);
         t.s.reverse_compute_inline(t.middle);
       },
       diagnosis::the_stage_was_scheduled_already__this_step_comes_before_all_others_on_it},
      {shape::chain, [](scheduled& t) { t.s.vectorize(t.s.split(t.c.all[0], 8)[1]), t.s.reverse_compute_inline(t.c); },
       diagnosis::the_stage_was_scheduled_already__this_step_comes_before_all_others_on_it},
      {shape::chain,
       [](scheduled& t) {
         t.s.reverse_compute_inline(weft::stage_handle<1>{9, {}});
       },
       diagnosis::the_stage_is_none_of_this_schedule},
  };
  for (auto const& c : cases) {
    scheduled t(c.kind);
    c.steps(t);
    CHECK(t.why() == c.why);
    CHECK(explain(t.s, "k").find("  try   ") != std::string::npos);
    if (c.why != diagnosis::the_stage_is_none_of_this_schedule)
      CHECK(weft::parse_trace(weft::print_trace(t.s), weft::schedule(t.p, all_extents{40})) == t.s.steps);
  }
}

TEST_CASE("reverse_compute_inline, reverse_compute_at: a scan takes over no loop that is fused of its axis and another one") {
  weft::program p;
  weft::expr::tensor<float, 3> const A{&p, p.add_input(weft::short_name("A"), weft::dtype::f32, 3)};
  auto const a = weft::compute<"a">(A.extent(0), A.extent(1), A.extent(2), [=](auto i, auto j, auto k) { return A(i, j, k) * 2; });
  p.outputs.push_back(weft::compute<"C">(A.extent(0), A.extent(1), A.extent(2), [=](auto i, auto j, auto k) {
                        return weft::sum(weft::up_to(k), [=](auto h) { return a(i, j, h); });
                      }).id);
  p = weft::canonical(p);
  auto const state = [&](char const* steps) {
    weft::schedule s(p, all_extents{6});
    weft::replay(s, weft::parse_trace(steps, s));
    INFO(steps);
    if (s.state == verdict::illegal) CHECK(s.steps.back().reason == diagnosis::a_scanned_axis_and_another_one_cannot_be_fused);
    return s.state;
  };
  CHECK(state("a: fuse(j, k) -> jk\nC: reverse_compute_inline()\n") == verdict::illegal);
  CHECK(state("a: fuse(j, k) -> jk\na: split(jk, 4) -> jko, jki\nC: reverse_compute_at(a, jko)\n") == verdict::illegal);
  CHECK(state("a: fuse(j, k) -> jk\na: fuse(i, jk) -> ijk\nC: reverse_compute_inline()\n") == verdict::illegal);
  CHECK(state("a: split(k, 2) -> ko, ki\na: reorder(i, ko, j, ki)\na: fuse(ko, j) -> koj\nC: reverse_compute_at(a, koj)\n") == verdict::illegal);
  CHECK(state("a: fuse(j, k) -> jk\nC: reverse_compute_at(a, i)\n") == verdict::legal);  // it stays as it is inside
  CHECK(state("a: fuse(i, j) -> ij\nC: reverse_compute_inline()\n") == verdict::legal);
  CHECK(state("a: split(k, 2) -> ko, ki\na: fuse(ko, ki) -> koki\nC: reverse_compute_inline()\n") == verdict::legal);
}
TEST_CASE("reverse_compute_inline, reverse_compute_at: a longer stage does not take over marks that it is too long for") {
  weft::program p;
  weft::expr::tensor<float, 1> const x{&p, p.add_input(weft::short_name("x"), weft::dtype::f32, 1)};
  weft::expr::tensor<float, 1> const y{&p, p.add_input(weft::short_name("y"), weft::dtype::f32, 1)};
  auto const a = weft::compute<"a">(x.extent(0), [=](auto i) { return x(i) * 2; });
  p.outputs.push_back(
      weft::compute<"out">(y.extent(0), [=](auto i) { return y(i) + weft::select(i < x.extent(0), a(i), 0.0f); }).id);
  p = weft::canonical(p);
  auto const why = [&](std::int64_t length, std::string const& steps) {
    weft::schedule s(p, [&](int t, int) { return t == 0 ? std::int64_t(8) : length; });
    weft::replay(s, weft::parse_trace(steps, s));
    return s.state == verdict::illegal ? s.steps.back().reason : diagnosis::none;
  };
  std::string const inline_it = "out: reverse_compute_inline()\n";
  CHECK(why(3000, "a: vectorize(i)\n" + inline_it) == diagnosis::a_vectorized_axis_has_more_than_1024_lanes__split_it_first);
  CHECK(why(3000, "a: unroll(i)\n" + inline_it) == diagnosis::an_unrolled_axis_runs_more_than_1024_times__split_it_first);
  CHECK(why(3000, "a: bind(i, virtual_thread)\n" + inline_it) == diagnosis::an_unrolled_axis_runs_more_than_1024_times__split_it_first);
  CHECK(why(3000, "a: bind(i, thread_x)\n" + inline_it) == diagnosis::a_block_has_at_most_1024_threads_and_a_warp_32_lanes__split_first);
  CHECK(why(3000, "a: bind(i, thread_x)\nout: reverse_compute_at(a, i)\n") ==
        diagnosis::a_block_has_at_most_1024_threads_and_a_warp_32_lanes__split_first);
  CHECK(why(3000, "a: split(i, 4) -> io, ii\na: vectorize(ii)\n" + inline_it) == diagnosis::none);
  CHECK(why(1024, "a: vectorize(i)\n" + inline_it) == diagnosis::none);
  CHECK(why(-1, "a: vectorize(i)\n" + inline_it) == diagnosis::none);
}
