#include "../programs.hpp"

#include <doctest/doctest.h>

#include "weft/schedule/print.hpp"

using namespace weft_test;
using weft::diagnosis;
using weft::verdict;

namespace {
/// C, a matrix product, and D, a map of it.
weft::program product_and_map() {
  weft::program p;
  weft::expr::tensor<float, 2> const A{&p, p.add_input(weft::short_name("A"), weft::dtype::f32, 2)};
  weft::expr::tensor<float, 2> const B{&p, p.add_input(weft::short_name("B"), weft::dtype::f32, 2)};
  auto const C = weft::compute<"C">(A.extent(0), B.extent(1), [=](auto i, auto j) {
    return weft::sum(A.extent(1), [=](auto k) { return A(i, k) * B(k, j); });
  });
  auto const D = weft::compute<"D">(A.extent(0), B.extent(1), [=](auto i, auto j) { return C(i, j) + B(i, j); });
  p.outputs.push_back(D.id);
  return weft::canonical(p);
}
constexpr weft::input_handle<2> A{0}, B{1};
struct scheduled {
  weft::program p = product_and_map();
  weft::schedule s{p, all_extents{16}};
  weft::stage_handle<3, 2> C = weft::handle_of<3, 2>(s, 0);
  weft::stage_handle<2> D = weft::handle_of<2>(s, 1);
  diagnosis why() const { return s.failed < 0 ? s.fault : s.steps[static_cast<std::size_t>(s.failed)].reason; }
};
}  // namespace

TEST_CASE("cache_read: one stage reads the copy, another one the tensor") {
  scheduled t;
  auto const [i, j, k] = t.C.axes();
  t.s.reorder(k, i, j);
  auto const copy = t.s.cache_read(B, t.C);
  t.s.compute_at(copy, k);
  CHECK(t.s.state == verdict::legal);
  CHECK(weft::print_loops(t.s) == R"(C
  for k in 0..16
    B_copy
      for i in 0..part(16)
        for j in 0..part(16)
          B_copy[i, j] = B[i, j]
    for i in 0..16
      for j in 0..16
        C[i, j] += A[i, k] * B_copy[k, j]
D
  for i in 0..16
    for j in 0..16
      D[i, j] = C[i, j] + B[i, j]
)");
  CHECK(weft::print_trace(t.s) == R"(C: reorder(k, i, j)
C: cache_read(B)
B_copy: compute_at(C, k)
)");
  CHECK(weft::parse_trace(weft::print_trace(t.s), weft::schedule(t.p, all_extents{16})) == t.s.steps);
}
TEST_CASE("cache_read: without a reader, all that read the tensor read one copy") {
  scheduled t;
  auto const copy = t.s.cache_read(B);
  auto const [i, j] = t.D.axes();
  t.s.compute_at(t.C, i);
  t.s.compute_at(copy, i);
  CHECK(t.s.state == verdict::legal);
  CHECK(weft::print_loops(t.s) == R"(D
  for i in 0..16
    B_copy
      for i in 0..part(16)
        for j in 0..part(16)
          B_copy[i, j] = B[i, j]
    C
      for i in 0..part(16)
        for j in 0..part(16)
          for k in 0..16
            C[i, j] += A[i, k] * B_copy[k, j]
    for j in 0..16
      D[i, j] = C[i, j] + B_copy[i, j]
)");
  CHECK(weft::print_trace(t.s) == R"(C: cache_read(B, all)
C: compute_at(D, i)
B_copy: compute_at(D, i)
)");
  CHECK(weft::parse_trace(weft::print_trace(t.s), weft::schedule(t.p, all_extents{16})) == t.s.steps);
  scheduled none;
  static_cast<void>(none.s.cache_read(none.D));  // an output that nobody reads
  CHECK(none.s.state == verdict::illegal);
  CHECK(none.why() == diagnosis::the_stage_does_not_read_this_tensor);
}
TEST_CASE("cache_read: a stage's result is copied, too, and a copy again") {
  scheduled t;
  auto const copy = t.s.cache_read(t.C, t.D);
  auto const again = t.s.cache_read(copy, t.D);
  CHECK(t.s.state == verdict::legal);
  CHECK(again.stage == 3);
  CHECK(print_loops(t.s).find("D[i, j] = C_copy_copy[i, j] + B[i, j]") != std::string::npos);
  CHECK(print_loops(t.s).find("C_copy_copy[i, j] = C_copy[i, j]") != std::string::npos);
}
TEST_CASE("cache_read: its steps can be taken again for the program with other nodes") {
  scheduled t;
  static_cast<void>(t.s.cache_read(A, t.C));
  static_cast<void>(t.s.cache_read(t.C, t.D));
  weft::program const again = rewritten(t.p, t.s.steps);
  CHECK(again.stages.size() == 4);
  CHECK(again.nodes == t.s.computation().nodes);
}
TEST_CASE("cache_read: what cannot be copied") {
  struct {
    void (*steps)(scheduled&);
    diagnosis why;
  } const cases[] = {
      {[](scheduled& t) { static_cast<void>(t.s.cache_read(A, t.D)); }, diagnosis::the_stage_does_not_read_this_tensor},
      {[](scheduled& t) { static_cast<void>(t.s.cache_read(weft::input_handle<2>{7}, t.D)); },
       diagnosis::the_stage_does_not_read_this_tensor},
      {[](scheduled& t) { static_cast<void>(t.s.cache_read(t.D, t.C)); }, diagnosis::the_stage_does_not_read_this_tensor},
      {[](scheduled& t) { static_cast<void>(t.s.cache_read(A, weft::stage_handle<1>{9, {}})); },
       diagnosis::the_stage_is_none_of_this_schedule},
      {[](scheduled& t) {
         t.s.compute_at(t.C, t.D.all[0]);
         static_cast<void>(t.s.cache_read(t.C, t.D));
       },
       diagnosis::the_stage_is_computed_inside_another__cache_read_it_before_compute_at},
  };
  for (auto const& c : cases) {
    scheduled t;
    c.steps(t);
    CHECK(t.why() == c.why);
    CHECK(explain(t.s, "k").find("  try   ") != std::string::npos);
  }
}
TEST_CASE("cache_read: of several results one that there is") {
  weft::program p;
  weft::expr::tensor<float, 2> const A_{&p, p.add_input(weft::short_name("A"), weft::dtype::f32, 2)};
  auto const both = weft::compute<"place", "least">(
      A_.extent(0), [=](auto i) { return weft::argmin(A_.extent(1), [=](auto k) { return A_(i, k); }); });
  auto const least = weft::get<1>(both);
  p.outputs.push_back(weft::compute<"R">(A_.extent(0), [=](auto i) { return least(i) * 2; }).id);
  p = weft::canonical(p);
  auto const state = [&](int result) {
    weft::schedule s(p, all_extents{16});
    static_cast<void>(s.cache_read(weft::handle_of<2, 1>(s, 0).result(result), weft::handle_of<1>(s, 1)));
    return s.state;
  };
  CHECK(state(1) == verdict::legal);
  for (int none : {-1, 0, 2}) CHECK(state(none) == verdict::illegal);  // the first is not read
}
