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
