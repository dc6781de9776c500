#include "../programs.hpp"

#include <doctest/doctest.h>

#include <string>

#include "weft/schedule/print.hpp"

using namespace weft_test;
using weft::diagnosis;
using weft::verdict;

namespace {
/// blur[y] = x[y] + x[y + 1], out[y] = blur[y] + blur[y + 1], each of rank 2.
weft::program blurs() {
  weft::program p;
  weft::expr::tensor<float, 2> const x{&p, p.add_input(weft::short_name("x"), weft::dtype::f32, 2)};
  auto const blur = weft::compute<"blur">(x.extent(0) - 1, x.extent(1), [=](auto i, auto j) { return x(i, j) + x(i + 1, j); });
  auto const out = weft::compute<"out">(x.extent(0) - 2, x.extent(1), [=](auto i, auto j) { return blur(i, j) + blur(i + 1, j); });
  p.outputs.push_back(out.id);
  return weft::canonical(p);
}
struct scheduled {
  weft::program p = blurs();
  weft::schedule s{p, all_extents{16}};
  weft::stage_handle<2> blur = weft::handle_of<2>(s, 0), out = weft::handle_of<2>(s, 1);
  weft::axis y = out.all[0], x = out.all[1];
  diagnosis why() const { return s.failed < 0 ? s.fault : s.steps[static_cast<std::size_t>(s.failed)].reason; }
};
}  // namespace

TEST_CASE("store_at: memory for all iterations of a loop around the one in which a stage is computed") {
  scheduled t;
  auto const [yo, yi] = t.s.split(t.y, 4);
  t.s.parallel(yo);
  t.s.compute_at(t.blur, yi);
  t.s.store_at(t.blur, yo);
  t.s.fold_storage(t.blur.all[0], 2);
  CHECK(t.s.state == verdict::legal);
  CHECK(weft::print_loops(t.s) == R"(out
  parallel io in 0..4
    for ii in 0..4
      blur stored at io, i folded to 2
        for i in 0..part(15)
          for j in 0..part(16)
            blur[i, j] = x[i, j] + x[i + 1, j]
      for j in 0..16
        out[i, j] = blur[i, j] + blur[i + 1, j]
  where i = io*4 + ii
)");
  CHECK(weft::print_trace(t.s) == R"(out: split(i, 4) -> io, ii
out: parallel(io)
blur: compute_at(out, ii)
blur: store_at(out, io)
blur: fold_storage(i, 2)
)");
  CHECK(weft::parse_trace(weft::print_trace(t.s), weft::schedule(t.p, all_extents{16})) == t.s.steps);
}
TEST_CASE("store_root: memory for the whole stage") {
  scheduled t;
  t.s.compute_at(t.blur, t.x);
  t.s.store_root(t.blur);
  CHECK(t.s.state == verdict::legal);
  CHECK(weft::print_loops(t.s).find("blur stored for the whole kernel\n") != std::string::npos);
}
TEST_CASE("compute_at and compute_root forget where the memory was to be") {
  scheduled t;
  t.s.compute_at(t.blur, t.x);
  t.s.store_at(t.blur, t.y);
  t.s.compute_at(t.blur, t.y);
  CHECK(t.s.places[0] == weft::placement{false, t.y.id, weft::placement::as_computed});
  t.s.compute_root(t.blur);
  CHECK(t.s.places[0] == weft::placement());
}
TEST_CASE("store_at, store_root, fold_storage: what is refused") {
  struct {
    void (*steps)(scheduled&);
    diagnosis why;
  } const cases[] = {
      {[](scheduled& t) { t.s.store_at(t.blur, t.y); }, diagnosis::the_stage_is_computed_in_no_loop_of_another__compute_at_first},
      {[](scheduled& t) { t.s.store_root(t.blur); }, diagnosis::the_stage_is_computed_in_no_loop_of_another__compute_at_first},
      {[](scheduled& t) { t.s.store_root(t.out); }, diagnosis::an_output_is_computed_in_a_nest_of_its_own},
      {[](scheduled& t) { t.s.store_at(weft::stage_handle<1>{7, {}}, t.y); }, diagnosis::the_stage_is_none_of_this_schedule},
      {[](scheduled& t) {
         t.s.compute_at(t.blur, t.y);
         t.s.store_at(t.blur, t.x);
       },
       diagnosis::the_axis_does_not_stand_around_the_loop_in_which_the_stage_is_computed},
      {[](scheduled& t) {
         t.s.compute_at(t.blur, t.y);
         t.s.store_at(t.blur, t.blur.all[0]);
       },
       diagnosis::the_axis_does_not_stand_around_the_loop_in_which_the_stage_is_computed},
      {[](scheduled& t) {
         t.s.compute_at(t.blur, t.x);
         t.s.store_at(t.blur, t.y);
         t.s.split(t.y, 2);
       },
       diagnosis::a_stage_is_computed_inside_this_axis__split_it_before_compute_at},
      {[](scheduled& t) {
         t.s.parallel(t.y);
         t.s.compute_at(t.blur, t.y);
         t.s.store_root(t.blur);
       },
       diagnosis::a_parallel_axis_cannot_stand_between_a_stage_and_its_memory},
      {[](scheduled& t) {
         t.s.compute_at(t.blur, t.x);
         t.s.store_at(t.blur, t.y);
         t.s.parallel(t.x);
       },
       diagnosis::a_parallel_axis_cannot_stand_between_a_stage_and_its_memory},
      {[](scheduled& t) {
         t.s.compute_at(t.blur, t.x);
         t.s.store_at(t.blur, t.y);
         t.s.reorder(t.x, t.y);
       },
       diagnosis::the_axis_does_not_stand_around_the_loop_in_which_the_stage_is_computed},
      {[](scheduled& t) { t.s.fold_storage(t.blur.all[0], 2); }, diagnosis::the_stage_is_computed_in_no_loop_of_another__compute_at_first},
      {[](scheduled& t) { t.s.fold_storage(t.y, 2); }, diagnosis::an_output_is_computed_in_a_nest_of_its_own},
      {[](scheduled& t) { t.s.fold_storage(weft::axis{}, 2); }, diagnosis::the_axis_belongs_to_no_stage_of_this_schedule},
      {[](scheduled& t) {
         t.s.compute_at(t.blur, t.y);
         t.s.fold_storage(t.blur.all[0], 0);
       },
       diagnosis::a_factor_must_be_at_least_1},
      {[](scheduled& t) {
         auto const parts = t.s.split(t.blur.all[0], 2);
         t.s.compute_at(t.blur, t.y);
         t.s.fold_storage(parts[0], 2);
       },
       diagnosis::memory_is_folded_along_an_axis_of_the_stage_itself},
  };
  for (auto const& c : cases) {
    scheduled t;
    c.steps(t);
    CHECK(t.why() == c.why);
    CHECK(explain(t.s, "k").find("  try   ") != std::string::npos);
  }
}
TEST_CASE("fold_storage: a stage that is in no loop any more has no ring, and its vectors are in nobody's way until it comes back to one") {
  weft::program p;
  weft::expr::tensor<float, 2> const x{&p, p.add_input(weft::short_name("x"), weft::dtype::f32, 2)};
  auto const row = [&](auto const& of) {
    return [=](auto i, auto j) { return of(i, j) + of(i + 1, j); };
  };
  auto const first = weft::compute<"first">(x.extent(0) - 1, x.extent(1), row(x));
  auto const second = weft::compute<"second">(x.extent(0) - 2, x.extent(1), row(first));
  p.outputs.push_back(weft::compute<"out">(x.extent(0) - 3, x.extent(1), row(second)).id);
  p = weft::canonical(p);
  for (bool const inlined : {true, false}) {
    weft::schedule s{p, all_extents{16}};
    weft::stage_handle<2> const a = weft::handle_of<2>(s, 0), b = weft::handle_of<2>(s, 1), out = weft::handle_of<2>(s, 2);
    s.compute_at(a, b.all[0]);
    s.store_root(a);
    s.fold_storage(a.all[1], 4);
    if (inlined) s.compute_inline(a);
    else s.compute_root(a);
    s.vectorize(a.all[1]);
    CHECK(s.state == verdict::legal);
    weft::step there{weft::verb::compute_at, 1, {out.all[0].id}};
    there.stage = b.stage;
    CHECK(weft::schedule::check(s, there).v == verdict::legal);
    s.take(there);
    CHECK(s.state == verdict::legal);
    there.stage = a.stage;
    there.loops[0] = b.all[0].id;
    CHECK(weft::schedule::check(s, there).why == diagnosis::memory_that_is_folded_along_an_axis_cannot_be_written_by_vectors_along_it);
  }
}
