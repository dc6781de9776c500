#include "../programs.hpp"

#include <doctest/doctest.h>

#include <string>

#include "weft/schedule/print.hpp"
#include "weft/schedule/print_how.hpp"

using namespace weft_test;
using weft::diagnosis;
using weft::verdict;

namespace {
/// a[i, j] = x[i, j] + 1, b[i, j] = a[i, j] * 2, out[i, j] = b[i, j] - a[i, j]
weft::program chain() {
  weft::program p;
  weft::expr::tensor<float, 2> const x{&p, p.add_input(weft::short_name("x"), weft::dtype::f32, 2)};
  auto const a = weft::compute<"a">(x.extent(0), x.extent(1), [=](auto i, auto j) { return x(i, j) + 1.0f; });
  auto const b = weft::compute<"b">(x.extent(0), x.extent(1), [=](auto i, auto j) { return a(i, j) * 2.0f; });
  auto const out = weft::compute<"out">(x.extent(0), x.extent(1), [=](auto i, auto j) { return b(i, j) - a(i, j); });
  p.outputs.push_back(out.id);
  return weft::canonical(p);
}
struct scheduled {
  weft::program p = chain();
  weft::schedule s{p, all_extents{16}};
  weft::stage_handle<2> a = weft::handle_of<2>(s, 0), b = weft::handle_of<2>(s, 1), out = weft::handle_of<2>(s, 2);
  weft::axis i = out.all[0], j = out.all[1];
  diagnosis why() const { return s.failed < 0 ? s.fault : s.steps[static_cast<std::size_t>(s.failed)].reason; }
};
}  // namespace

TEST_CASE("pipeline: stages of one loop, each so many iterations ahead") {
  scheduled t;
  t.s.compute_at(t.b, t.i);
  t.s.compute_at(t.a, t.i);
  t.s.pipeline(t.a, 2);
  t.s.double_buffer(t.b);
  CHECK(t.s.state == verdict::legal);
  CHECK(weft::print_loops(t.s) == R"(out
  for i in 0..16
    a for i + 2
      for i in 0..part(16)
        for j in 0..part(16)
          a[i, j] = x[i, j] + 1
    b for i + 1
      for i in 0..part(16)
        for j in 0..part(16)
          b[i, j] = a[i, j] * 2
    for j in 0..16
      out[i, j] = b[i, j] - a[i, j]
)");
  CHECK(weft::print_trace(t.s) == R"(b: compute_at(out, i)
a: compute_at(out, i)
a: pipeline(2)
b: pipeline(1)
)");
  CHECK(weft::parse_trace(weft::print_trace(t.s), weft::schedule(t.p, all_extents{16})) == t.s.steps);
  CHECK(weft::print_how(t.s) == R"([](auto& s, auto, auto a, auto b, auto out) {
  auto [out_i, out_j] = out.axes();
  s.compute_at(b, out_i);
  s.compute_at(a, out_i);
  s.pipeline(a, 2);
  s.pipeline(b, 1);
})");
}
TEST_CASE("pipeline: asynchronous copies are a word of the step, in the nest, the trace and the how-lambda") {
  weft::program p;
  weft::expr::tensor<float, 2> const x{&p, p.add_input(weft::short_name("x"), weft::dtype::f32, 2)};
  p.outputs.push_back(weft::compute<"out">(x.extent(0), [=](auto i) { return weft::sum(x.extent(1), [=](auto k) { return x(i, k); }); }).id);
  p = weft::canonical(p);
  weft::schedule s{p, all_extents{16}};
  auto const out = weft::handle_of<2, 1>(s, 0);
  auto const copy = s.cache_read(weft::input_handle<2>{0}, out);
  s.compute_at(copy, out.axes()[1]);
  s.pipeline(copy, 3, weft::transfer::async);
  CHECK(s.state == verdict::legal);
  CHECK(weft::print_trace(s) == "out: cache_read(x)\nx_copy: compute_at(out, j)\nx_copy: pipeline(3, async)\n");
  CHECK(weft::print_loops(s).find("x_copy for j + 3, asynchronously\n") != std::string::npos);
  weft::trace const again = weft::parse_trace(weft::print_trace(s), weft::schedule(p, all_extents{16}));
  CHECK(again == s.steps);
  weft::trace plain = again;
  plain[2].word = 0;
  CHECK(weft::hash(plain) != weft::hash(again));
  CHECK(weft::print_how(s).find("  s.pipeline(x_copy, 3, weft::transfer::async);\n") != std::string::npos);
  s.double_buffer(copy, weft::transfer::async);
  CHECK(s.places[1].async);
  s.double_buffer(copy);
  CHECK_FALSE(s.places[1].async);
  CHECK(s.state == verdict::legal);
}
TEST_CASE("pipeline: compute_at and compute_root forget how far ahead") {
  scheduled t;
  t.s.compute_at(t.b, t.j);
  t.s.pipeline(t.b, 3);
  t.s.compute_at(t.b, t.i);
  CHECK(t.s.places[1] == weft::placement{false, t.i.id});
  t.s.pipeline(t.b, 3);
  t.s.compute_root(t.b);
  CHECK(t.s.places[1] == weft::placement());
}
TEST_CASE("pipeline: a stage that is read in the loop of a pipelined one, or further out, is there in time") {
  scheduled t;
  t.s.compute_inline(t.b);
  t.s.compute_at(t.a, t.i);
  t.s.pipeline(t.a, 1);
  CHECK(t.why() == diagnosis::none);
  scheduled u;
  u.s.compute_at(u.b, u.j);
  u.s.compute_at(u.a, u.i);
  u.s.pipeline(u.b, 2);
  CHECK(u.why() == diagnosis::none);
}
TEST_CASE("pipeline: what is refused") {
  struct {
    void (*steps)(scheduled&);
    diagnosis why;
  } const cases[] = {
      {[](scheduled& t) { t.s.pipeline(t.a, 1); }, diagnosis::the_stage_is_computed_in_no_loop_of_another__compute_at_first},
      {[](scheduled& t) { t.s.double_buffer(t.out); }, diagnosis::an_output_is_computed_in_a_nest_of_its_own},
      {[](scheduled& t) { t.s.pipeline(weft::stage_handle<1>{7, {}}, 1); }, diagnosis::the_stage_is_none_of_this_schedule},
      {[](scheduled& t) { t.s.compute_at(t.b, t.i), t.s.pipeline(t.b, 0); }, diagnosis::a_stage_is_computed_1_to_16_iterations_ahead},
      {[](scheduled& t) { t.s.compute_at(t.b, t.i), t.s.pipeline(t.b, 17); }, diagnosis::a_stage_is_computed_1_to_16_iterations_ahead},
      {[](scheduled& t) { t.s.parallel(t.i), t.s.compute_at(t.b, t.i), t.s.pipeline(t.b, 1); },
       diagnosis::only_in_a_serial_axis_is_a_stage_computed_ahead},
      {[](scheduled& t) { t.s.compute_at(t.b, t.i), t.s.pipeline(t.b, 1), t.s.parallel(t.i); },
       diagnosis::only_in_a_serial_axis_is_a_stage_computed_ahead},
      {[](scheduled& t) { t.s.compute_at(t.b, t.i), t.s.store_root(t.b), t.s.pipeline(t.b, 1); },
       diagnosis::a_stage_that_is_computed_ahead_has_memory_for_whole_parts__not_for_what_slides},
      {[](scheduled& t) { t.s.compute_at(t.b, t.j), t.s.pipeline(t.b, 1), t.s.store_at(t.b, t.i); },
       diagnosis::a_stage_that_is_computed_ahead_has_memory_for_whole_parts__not_for_what_slides},
      {[](scheduled& t) { t.s.compute_at(t.b, t.i), t.s.compute_at(t.a, t.i), t.s.pipeline(t.b, 1); },
       diagnosis::a_stage_that_reads_it_is_computed_further_ahead__pipeline_this_one_before},
      {[](scheduled& t) { t.s.compute_at(t.b, t.i), t.s.pipeline(t.b, 1), t.s.compute_at(t.a, t.i); },
       diagnosis::a_stage_that_reads_it_is_computed_further_ahead__pipeline_this_one_before},
      {[](scheduled& t) {
         t.s.compute_at(t.b, t.i), t.s.compute_at(t.a, t.i), t.s.pipeline(t.a, 2), t.s.pipeline(t.b, 2), t.s.pipeline(t.a, 1);
       },
       diagnosis::a_stage_that_reads_it_is_computed_further_ahead__pipeline_this_one_before},
      {[](scheduled& t) { t.s.compute_at(t.b, t.i), t.s.pipeline(t.b, 1, weft::transfer::async); },
       diagnosis::an_asynchronous_copy_has_no_arithmetic__cache_read_for_a_stage_that_copies},
      {[](scheduled& t) { t.s.compute_at(t.b, t.i), t.s.pipeline(t.b, 1), t.s.split(t.i, 2); },
       diagnosis::a_stage_is_computed_inside_this_axis__split_it_before_compute_at},
  };
  for (auto const& c : cases) {
    scheduled t;
    c.steps(t);
    CHECK(weft::sentence(t.why()) == weft::sentence(c.why));
  }
}
