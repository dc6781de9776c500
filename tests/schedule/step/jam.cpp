#include "../programs.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "weft/schedule/print.hpp"
#include "weft/schedule/print_how.hpp"
#include "weft/weft.hpp"

using namespace weft_test;
using weft::diagnosis;
using weft::verdict;

namespace {
/// a[i, j] = x[i, j] + 1, b[i, j] = a[i, 15 - j] * 2, out[i, j] = b[i, j] - x[i, j]
inline constexpr auto what = [](auto x) {
  auto const n = x.extent(1);
  auto const a = weft::compute<"a">(x.extent(0), n, [=](auto i, auto j) { return x(i, j) + 1.0f; });
  auto const b = weft::compute<"b">(x.extent(0), n, [=](auto i, auto j) { return a(i, n - 1 - j) * 2.0f; });
  return weft::compute<"out">(x.extent(0), n, [=](auto i, auto j) { return b(i, j) - x(i, j); });
};
weft::program chain() {
  weft::program p;
  p.outputs.push_back(what(weft::expr::tensor<float, 2>{&p, p.add_input(weft::short_name("x"), weft::dtype::f32, 2)}).id);
  return weft::canonical(p);
}
struct scheduled {
  weft::program p = chain();
  weft::schedule s{p, all_extents{16}};
  weft::stage_handle<2> a = weft::handle_of<2>(s, 0), b = weft::handle_of<2>(s, 1), out = weft::handle_of<2>(s, 2);
  weft::axis i = out.all[0], j = out.all[1];
  diagnosis why() const { return s.failed < 0 ? s.fault : s.steps[static_cast<std::size_t>(s.failed)].reason; }
};
/// `Ahead`: a two rows, b one; else all of one row.
template <bool Ahead, bool Jam>
constexpr auto rows = weft::kernel<"rows">(what, [](auto& s, auto, auto a, auto b, auto out) {
  auto [i, j] = out.axes();
  s.compute_at(b, i);
  s.compute_at(a, i);
  if (Ahead) s.pipeline(a, 2), s.pipeline(b, 1);
  if (Jam) s.jam(a.axes()[1], b.axes()[1], j);
});
template <class Y>
bool same(weft::tensor<float, 2> const& x, Y const& y) {
  if constexpr (requires { y == x; }) {
    return y == x;
  } else {
    bool all = x.size() == y.size();
    for (std::size_t i = 0; i < x.size() && all; ++i) all = x.data()[i] == y.data()[i];
    return all;
  }
}
std::vector<float> numbers(std::size_t n) {
  std::vector<float> v(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = static_cast<float>(i * 7 % 13) - 6;
  return v;
}
}  // namespace

TEST_CASE("jam stands at the loops, in the trace and in the how-lambda") {
  scheduled t;
  t.s.compute_at(t.b, t.i);
  t.s.compute_at(t.a, t.i);
  t.s.pipeline(t.a, 2);
  t.s.pipeline(t.b, 1);
  t.s.jam(t.a.all[1], t.b.all[1], t.j);
  CHECK(t.s.state == verdict::legal);
  CHECK(weft::print_loops(t.s) == R"(out
  for i in 0..16
    a for i + 2
      for i in 0..part(16)
        for j in 0..part(16) as one with b.j, out.j
          a[i, j] = x[i, j] + 1
    b for i + 1
      for i in 0..part(16)
        for j in 0..part(16) as one with a.j, out.j
          b[i, j] = a[i, x.extent(1) - 1 - j] * 2
    for j in 0..16 as one with a.j, b.j
      out[i, j] = b[i, j] - x[i, j]
)");
  std::string const text = weft::print_trace(t.s);
  CHECK(text.find("a: jam(j, @") != std::string::npos);
  CHECK(weft::parse_trace(text, weft::schedule(t.p, all_extents{16})) == t.s.steps);
  std::string const how = weft::print_how(t.s);
  INFO(how);
  CHECK(how.find("  s.jam(j, b_j, out_j);\n") != std::string::npos);
}
TEST_CASE("jam: rows of stages that run ahead are one loop, and give the same") {
  std::vector<float> const x = numbers(12 * 16);
  for (std::int64_t n : {1, 2, 3, 12}) {
    auto const view = weft::view(x.data(), n, 16);
    CHECK(same(rows<true, true>(view), rows<false, false>(view)));
    CHECK(same(rows<true, true>(view), weft::evaluate({.contract = weft::cpu().fma}, rows<true, true>, view)));
    CHECK(same(rows<true, true>.with({.checked = true})(view), rows<false, false>(view)));
  }
  std::string const one = rows<true, true>.ir(weft::view(x.data(), 12, 16));
  INFO(one);
  CHECK(one.find("  for i in 0..10:\n") != std::string::npos);
  CHECK(one.find("  for i in 10..12:\n") != std::string::npos);
  CHECK(one.find("jam") == std::string::npos);
}
TEST_CASE("jam: what needs the whole row of another one stays apart, and is right") {
  std::vector<float> const x = numbers(12 * 16);
  auto const view = weft::view(x.data(), 12, 16);
  CHECK(same(rows<false, true>(view), rows<false, false>(view)));  // b reads a's row backwards
  CHECK(rows<false, true>.ir(view) == rows<false, false>.ir(view));
}
TEST_CASE("jam: what is refused") {
  struct {
    void (*steps)(scheduled&);
    diagnosis why;
  } const cases[] = {
      {[](scheduled& t) { t.s.jam(t.j, t.j); }, diagnosis::an_axis_is_named_twice},
      {[](scheduled& t) { t.s.jam(t.i, t.j); }, diagnosis::loops_that_run_as_one_are_of_different_stages},
      {[](scheduled& t) { t.s.jam(t.a.all[1], t.j); }, diagnosis::stages_whose_loops_run_as_one_are_computed_in_one_loop__compute_at_first},
      {[](scheduled& t) { t.s.compute_at(t.b, t.i), t.s.split(t.b.all[1], 4), t.s.jam(weft::axis{t.s.at(t.b.all[1].id).outer}, t.j); }, diagnosis::loops_that_run_as_one_have_one_extent},
      {[](scheduled& t) { t.s.compute_at(t.b, t.i), t.s.vectorize(t.j, 4), t.s.jam(t.b.all[1], t.j); }, diagnosis::the_axis_was_split_already},
      {[](scheduled& t) { t.s.compute_at(t.b, t.i), t.s.unroll(t.j), t.s.jam(t.b.all[1], t.j); }, diagnosis::the_axis_is_unrolled_vectorized_or_parallel_already},
      {[](scheduled& t) { t.s.compute_at(t.b, t.i), t.s.jam(t.b.all[1], t.j), t.s.split(t.j, 4); }, diagnosis::the_axis_runs_as_one_with_others__split_and_mark_it_before},
      {[](scheduled& t) { t.s.compute_at(t.b, t.i), t.s.jam(t.b.all[1], t.j), t.s.vectorize(t.j); }, diagnosis::the_axis_runs_as_one_with_others__split_and_mark_it_before},
      {[](scheduled& t) { t.s.compute_at(t.b, t.i), t.s.compute_at(t.a, t.i), t.s.jam(t.b.all[1], t.j), t.s.jam(t.a.all[1], t.j); },
       diagnosis::the_axis_runs_as_one_with_others__split_and_mark_it_before},
      {[](scheduled& t) { t.s.compute_at(t.b, t.i), t.s.prefetch(weft::input_handle<2>{0}, t.j, 2), t.s.jam(t.b.all[1], t.j); }, diagnosis::none},
  };
  for (auto const& c : cases) {
    scheduled t;
    c.steps(t);
    CHECK(t.why() == c.why);
    CHECK(weft::explain(t.s, "k").find(c.why == diagnosis::none ? "" : "try   ") != std::string::npos);
  }
}
