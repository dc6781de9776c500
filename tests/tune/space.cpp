#include "weft/tune/space.hpp"

#include <doctest/doctest.h>

#include <string>

#include "lower/programs.hpp"
#include "tune/landscapes.hpp"
#include "weft/bench/measure.hpp"

using namespace weft;
using namespace weft::tuning;
using weft_test::lowered_program;

namespace {
axis at(schedule const& s, int place) { return axis{s.order[0][static_cast<std::size_t>(place)]}; }
/// A request for the matrix product of 64 x 64 on a machine with 32 registers of 64 bytes.
struct wanted {
  lowered_program l{weft_test::matmul(), {{64, 64}, {64, 64}}};
  call_layout layout = l.layout();
  target machine = host();
  compile_request r{"product", &l.p, nullptr, nullptr, &layout, &machine};
  explicit wanted(void (*how)(void const*, schedule&)) {
    r.how = how;
    machine.vector_bytes = 64, machine.vector_registers = 32;
  }
};
void tile(void const*, schedule& s) {
  axis const i = at(s, 0), j = at(s, 1), k = at(s, 2);
  auto const [io, ii] = s.split(i, s.knob("mr", {4, 8, 14}));
  auto const [jo, ji] = s.split(j, s.knob("nr", {64, 32}));
  s.reorder(io, jo, k, ii, ji);
  s.unroll(ii);
  s.vectorize(ji);
}
/// The second knob is there for one value of the first only, and decides how many values the third has.
void branches(void const*, schedule& s) {
  if (s.knob("split", {0, 1}) == 0) return;
  if (s.knob("wide", {0, 1}) == 0) static_cast<void>(s.split(at(s, 1), s.knob("n", {2, 4, 8})));
  else static_cast<void>(s.split(at(s, 1), s.knob("n", {16, 32})));
}
}  // namespace

TEST_CASE("a space is counted exactly, legal points apart") {
  wanted const w(tile);
  space s(w.r);
  space_size const size = measure(s);
  CHECK(size.exact);
  CHECK(size.points == 6);
  CHECK(size.legal == 4);  // 8 and 14 rows of 64 columns need more than 32 registers
  CHECK(text(size) == "6 points, 4 legal");
}
TEST_CASE("knobs of a branch are met in that branch only") {
  wanted const w(branches);
  space s(w.r);
  CHECK(measure(s).points == 1 + 3 + 2);
  CHECK(s.look({}).sizes == sequence<std::int32_t>{2});
  CHECK(s.look({1}).sizes == sequence<std::int32_t>{2, 2, 3});
  CHECK(s.look({1, 1, 1}).sizes == sequence<std::int32_t>{2, 2, 2});
  CHECK(s.look({0, 1, 1}).choices == sequence<std::int32_t>{0});
}
TEST_CASE("a large space is estimated, and says so") {
  weft_test::tiles l(1);
  space_size const exact = measure(l, 100000), estimated = measure(l, 100);
  CHECK(exact.exact);
  CHECK_FALSE(estimated.exact);
  CHECK(estimated.points == doctest::Approx(exact.points).epsilon(0.1));
  CHECK(estimated.legal == doctest::Approx(exact.legal).epsilon(0.1));
  CHECK(estimated.looked_at < 3000);
  CHECK(text(estimated).find("about") == 0);
}
TEST_CASE("a count that goes on a few points at a time ends with what one in one go finds, or at what is asked at most") {
  wanted const w(tile);
  space s(w.r);
  whole_count slow(s), few(s, 4);
  int more = 0;
  for (; slow.go_on(1); ++more) CHECK_FALSE(slow.so_far().exact);
  space_size const whole = measure(s);
  CHECK(more + 1 == whole.points);
  CHECK(slow.so_far().exact);
  CHECK(slow.so_far().points == whole.points);
  CHECK(slow.so_far().legal == whole.legal);
  CHECK_FALSE(slow.go_on(10));  // there are no more
  CHECK(slow.so_far().points == whole.points);
  CHECK_FALSE(few.go_on(100));
  CHECK_FALSE(few.so_far().exact);
  CHECK(few.so_far().points == 4);
}
TEST_CASE("a space is counted whole up to a million points, and given up where that would take too long") {
  struct : landscape {
    point look(sequence<std::int32_t> const& choices) override {
      point p;
      for (std::size_t i = 0; i < 6; ++i) p.choices.push_back(i < choices.size() ? choices[i] % 9 : 0), p.sizes.push_back(9);
      p.legal = p.choices[0] < 3;
      return p;
    }
  } half_a_million;
  space_size const whole = measure(half_a_million);
  CHECK(whole.exact);
  CHECK(whole.points == 531441);
  CHECK(whole.legal == 177147);
  CHECK(text(whole) == "531,441 points, 177,147 legal");
  space_size const beyond = measure(half_a_million, 100000), late = measure(half_a_million, 1000000, 1, 2048, 1e-3);
  for (space_size const& s : {beyond, late}) {
    CHECK_FALSE(s.exact);
    CHECK(s.points == 531441);
    // What is given up for want of time has 64 walks, of which a third end legal: 0.33 give or take 0.06 each way, five times that at most.
    CHECK(s.legal == doctest::Approx(177147).epsilon(&s == &beyond ? 0.1 : 0.9));
    CHECK(s.looked_at < 20000);
    CHECK(text(s).find("(estimated)") != std::string::npos);
  }
}
TEST_CASE("a count that would be given up is not begun") {
  struct : landscape {
    point look(sequence<std::int32_t> const& choices) override {
      for (double const until = bench::now_ns() + 2e4; bench::now_ns() < until;) {
      }
      point p;
      p.choices.push_back(choices.empty() ? 0 : choices[0] % 2000), p.sizes.push_back(2000), p.legal = true;
      return p;
    }
    point at_random(random_numbers& r, bool) override { return look({r.below(2000)}); }
  } dear;
  space_size const s = measure(dear, 1000000, 1, 64, 0.01);  // of 0.04 s, or more where others run
  CHECK_FALSE(s.exact);
  CHECK(s.looked_at == 64);
}
TEST_CASE("a dozen points are counted, however little time there is") {
  wanted const w(tile);
  space s(w.r);
  space_size const size = measure(s, 1000000, 1, 64, 0);
  CHECK(size.exact);
  CHECK(text(size) == "6 points, 4 legal");
}
TEST_CASE("an illegal point says why") {
  wanted const w(tile);
  space s(w.r);
  CHECK(s.why_not({0, 0}).empty());
  CHECK(s.why_not({2, 0}).find("registers") != std::string::npos);
  CHECK_FALSE(s.look({2, 0}).legal);
}
TEST_CASE("a point's schedule has its knob values, and its features tell it from its neighbours") {
  wanted const w(tile);
  space s(w.r);
  schedule const made = s.at({1, 1});
  CHECK(made.steps[0].factor == 8);
  CHECK(made.steps[1].factor == 32);
  CHECK(made.original == &w.l.p);
  point const a = s.look({0, 1}), b = s.look({1, 1});
  CHECK(a.features.size() == b.features.size());
  CHECK_FALSE(a.features == b.features);
}
TEST_CASE("points at random reach every branch") {
  wanted const w(branches);
  space s(w.r);
  random_numbers r(5);
  int count[3] = {};
  for (int i = 0; i < 300; ++i) {
    point const p = random_point(s, r);
    ++count[p.choices[0] == 0 ? 0 : p.choices[1] == 0 ? 1 : 2];
    for (std::size_t k = 0; k < p.sizes.size(); ++k) CHECK(p.choices[k] < p.sizes[k]);
  }
  CHECK(count[0] > 100);
  CHECK(count[1] > 40);
  CHECK(count[2] > 40);
}
