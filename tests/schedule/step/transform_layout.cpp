#include "../programs.hpp"

#include <doctest/doctest.h>

#include "weft/expr/formula.hpp"
#include "weft/schedule/print.hpp"

using namespace weft_test;
using weft::diagnosis;
using weft::dims;
using weft::verdict;

namespace {
constexpr weft::input_handle<2> B{1};
struct scheduled {
  weft::program p = matmul();
  weft::schedule s{p, all_extents{20}};
  weft::stage_handle<3, 2> C = weft::handle_of<3, 2>(s, 0);
  diagnosis why() const { return s.failed < 0 ? s.fault : s.steps[static_cast<std::size_t>(s.failed)].reason; }
};
constexpr auto panels = [](auto k, auto j) { return dims(j / 16, k, j % 16); };
}  // namespace

TEST_CASE("transform_layout: a copy in panels, read where its elements stand now") {
  scheduled t;
  auto const copy = t.s.cache_read(B, t.C);
  auto const packed = t.s.transform_layout(copy, panels);
  auto const [jo, k, ji] = packed.axes();
  t.s.vectorize(ji);
  t.s.parallel(jo);
  CHECK(t.s.state == verdict::legal);
  CHECK(weft::print_loops(t.s) == R"(C
  for i in 0..20
    for j in 0..20
      for k in 0..20
        C[i, j] += A[i, k] * B_copy[j / 16, k, j % 16]
B_copy
  parallel i in 0..2
    for j in 0..20
      vectorized k in 0..16
        B_copy[i, j, k] = select(i * 16 + k < B.extent(1), B[j, i * 16 + k], 0)
)");
  CHECK(weft::print_trace(t.s) == R"(C: cache_read(B)
B_copy: transform_layout(1, 16, 0, 0, 1, 0, 1, 1, 16, 0)
B_copy: vectorize(k)
B_copy: parallel(i)
)");
  CHECK(weft::parse_trace(weft::print_trace(t.s), weft::schedule(t.p, all_extents{20})) == t.s.steps);
  CHECK(rewritten(t.p, t.s.steps).nodes == t.s.computation().nodes);
}
TEST_CASE("transform_layout: steps differ, and their hashes, where a number does") {
  scheduled t, u;
  static_cast<void>(t.s.transform_layout(t.s.cache_read(B, t.C), panels));
  static_cast<void>(u.s.transform_layout(u.s.cache_read(B, u.C), panels, 7));
  CHECK(!(t.s.steps == u.s.steps));
  CHECK(weft::hash(t.s.steps) != weft::hash(u.s.steps));
}
TEST_CASE("transform_layout: quotients of quotients, remainders of remainders, dimensions of one element") {
  struct {
    weft::layout_index made, same;
  } const cases[] = {
      {weft::layout_index{0} / 4 / 2, {0, 8, 0}},  {weft::layout_index{0} % 8 / 2, {0, 2, 4}},
      {weft::layout_index{0} % 8 % 2, {0, 1, 2}},  {weft::layout_index{0} / 4 % 8, {0, 4, 8}},
      {weft::layout_index{0} % 8 / 8, {0, 8, 1}},  {weft::layout_index{0} % 8 / 3, {-1, 1, 0}},
      {weft::layout_index{0} % 8 % 3, {-1, 1, 0}}, {weft::layout_index{0} / 0, {-1, 1, 0}},
      {weft::layout_index{0} % -2, {-1, 1, 0}},
  };
  for (auto const& c : cases) {
    CHECK(c.made.dim == c.same.dim);
    CHECK(c.made.divisor == c.same.divisor);
    CHECK(c.made.modulus == c.same.modulus);
  }
}
TEST_CASE("transform_layout: what holds each element once, and what does not") {
  struct {
    weft::step (*layout)(scheduled&, weft::stage_handle<2>);
    bool fits;
  } const cases[] = {
#define LAYOUT(fits, ...)                                                                                              \
  {[](scheduled& t, weft::stage_handle<2> c) {                                                                         \
     static_cast<void>(                                                                                                \
         t.s.transform_layout(c, []([[maybe_unused]] auto k, [[maybe_unused]] auto j) { return dims(__VA_ARGS__); })); \
     return t.s.steps.back();                                                                                          \
   },                                                                                                                  \
   fits}
      LAYOUT(true, j, k),
      LAYOUT(true, k, j),
      LAYOUT(true, j / 16, k / 4, k % 4, j % 16),
      LAYOUT(true, j / 64, j / 16 % 4, k, j % 16),
      LAYOUT(true, j % 16, j / 64, k, j % 64 / 16),
      LAYOUT(true, j / 1, k, j % 1),
      LAYOUT(true, j % 1, k, j),
      LAYOUT(true, j / 4, k, j % 4 / 4, j % 4),
      LAYOUT(false, j),                          // no k
      LAYOUT(true, join(k, j) / 16, join(k, j) % 16),
      LAYOUT(false, join(k, j), j),
      LAYOUT(false, join(j, k)),                 // another order
      LAYOUT(false, j, k, k),                    // twice
      LAYOUT(false, j / 16, k, j % 8),           // a gap
      LAYOUT(false, j / 8, k, j % 16),           // an overlap
      LAYOUT(false, j / 16, k),                  // no remainder
      LAYOUT(false, j % 16, k),                  // no quotient
      LAYOUT(false, j / 16, k, j % 16, j % 16),  // a remainder twice
      LAYOUT(false, j / 16, j / 16, k, j % 16),  // a quotient twice
      LAYOUT(false, j / 6, k, j % 6 % 4, j % 6 / 4),
      LAYOUT(false, j / 0, k, j % 0),
      LAYOUT(false, j / -2, k, j % -2),
      LAYOUT(false, j / (std::int64_t(1) << 40), k, j % (std::int64_t(1) << 40)),
      LAYOUT(false, j / 16, k, weft::layout_index{5}, j % 16),
#undef LAYOUT
  };
  int number = 0;
  for (auto const& c : cases) {
    scheduled t;
    weft::step const taken = c.layout(t, t.s.cache_read(B, t.C));
    INFO("case " << number++);
    CHECK((t.s.state == verdict::legal) == c.fits);
    if (!c.fits)
      CHECK(taken.reason ==
            diagnosis::a_layout_must_hold_each_element_once__cut_each_dimension_into_quotients_and_remainders);
    CHECK(weft::parse_trace(weft::print_trace(t.s), weft::schedule(t.p, all_extents{20})) == t.s.steps);
  }
}
TEST_CASE("transform_layout: dimensions that are joined are one index, in rows of both") {
  scheduled t;
  auto const copy = t.s.cache_read(B, t.C);
  auto const packed = t.s.transform_layout(copy, [](auto k, auto j) { return dims(join(k, j) / 16, join(k, j) % 16); });
  t.s.vectorize(packed.all[1]);
  CHECK(t.s.state == verdict::legal);
  CHECK(weft::print_loops(t.s) == R"(C
  for i in 0..20
    for j in 0..20
      for k in 0..20
        C[i, j] += A[i, k] * B_copy[(k * B.extent(1) + j) / 16, (k * B.extent(1) + j) % 16]
B_copy
  for i in 0..25
    vectorized j in 0..16
      B_copy[i, j] = select(i * 16 + j < B.extent(0) * B.extent(1), B[(i * 16 + j) / B.extent(1), (i * 16 + j) % B.extent(1)], 0)
)");
  CHECK(weft::print_trace(t.s) == R"(C: cache_read(B)
B_copy: transform_layout(8, 16, 0, 8, 1, 16, 0)
B_copy: vectorize(j)
)");
  CHECK(weft::parse_trace(weft::print_trace(t.s), weft::schedule(t.p, all_extents{20})) == t.s.steps);
  CHECK(rewritten(t.p, t.s.steps).nodes == t.s.computation().nodes);
}
TEST_CASE("transform_layout: whole neighbours are joined, in their order, and each once") {
  using index = weft::layout_index;
  index const a{0}, b{1}, c{2};
  CHECK(join(a, b).dim == weft::detail::joined_dims(0, 2).number());
  CHECK(join(join(a, b), c).dim == weft::detail::joined_dims(0, 3).number());
  CHECK((join(b, c) / 4 % 8).divisor == 4);
  for (index const none : {join(b, a), join(a, c), join(a, a), join(a / 2, b), join(a, b % 2), join(a, join(b, c)), join(a / 0, b)}) CHECK(none.dim == -1);
  struct {
    bool fits;
    weft::sequence<std::int64_t> numbers;
  } const cases[] = {
      {true, {8, 1, 0, 0}},                       // both as one
      {true, {8, 6, 0, 8, 2, 3, 8, 1, 2, 0}},
      {false, {8, 16, 0, 0}},                     // no remainder
      {false, {8, 1, 0, 1, 1, 0, 0}},             // the second one twice
      {false, {0, 1, 0, 8, 1, 0, 0}},
      {false, {16, 1, 0, 0}},                     // of three, where there are two
      {false, {9, 1, 0, 0, 1, 0, 0}},             // beyond the last one
      {false, {std::int64_t(1) << 40, 1, 0, 1, 1, 0, 0}},  // 0, if a number were cut
      {false, {-8, 1, 0, 0}},
  };
  for (auto const& one : cases) {
    scheduled t;
    weft::step s{weft::verb::transform_layout};
    s.stage = t.s.cache_read(B, t.C).stage;
    for (std::int64_t n : one.numbers) s.numbers.push_back(n);
    CHECK(t.s.take(s) == one.fits);
  }
}
TEST_CASE("transform_layout: a stage with a reduction keeps its reduced axes, behind the new ones") {
  scheduled t;
  auto const acc = t.s.cache_write(t.C);
  auto const tiled = t.s.transform_layout(acc, [](auto i, auto j) { return dims(i / 4, j / 8, i % 4, j % 8); });
  static_assert(std::is_same_v<decltype(tiled), weft::stage_handle<5, 4> const>);
  CHECK(t.s.state == verdict::legal);
  CHECK(loop_names(t.s, 1) == "i j k l m");
  CHECK(t.s.at(tiled.all[4].id).reduced);
  CHECK(weft::detail::update_text(t.s.computation(), 0) == " = C_acc[i / 4, j / 8, i % 4, j % 8]");
}
TEST_CASE("transform_layout: what it refuses") {
  auto const late = diagnosis::the_stage_was_scheduled_already__this_step_comes_before_all_others_on_it;
  struct {
    void (*steps)(scheduled&);
    diagnosis why;
  } const cases[] = {
      {[](scheduled& t) { static_cast<void>(t.s.transform_layout(t.C, [](auto i, auto j) { return dims(j, i); })); },
       diagnosis::an_output_keeps_its_layout__transform_a_copy_or_a_stage_that_others_read},
      {[](scheduled& t) {
         static_cast<void>(t.s.transform_layout(weft::stage_handle<2>{9, {}}, panels));
       },
       diagnosis::the_stage_is_none_of_this_schedule},
      {[](scheduled& t) {
         auto const copy = t.s.cache_read(B, t.C);
         t.s.split(copy.all[0], 4);
         static_cast<void>(t.s.transform_layout(copy, panels));
       },
       late},
      {[](scheduled& t) {
         auto const copy = t.s.cache_read(B, t.C);
         t.s.compute_at(copy, t.C.all[0]);
         static_cast<void>(t.s.transform_layout(copy, panels));
       },
       late},
      {[](scheduled& t) {
         auto const copy = t.s.cache_read(B, t.C);
         t.s.compute_inline(copy);
         static_cast<void>(t.s.transform_layout(copy, panels));
       },
       late},
      {[](scheduled& t) {
         auto const copy = t.s.cache_read(B, t.C);
         static_cast<void>(t.s.transform_layout(copy, panels));
         t.s.vectorize(copy.all[0]);
       },
       diagnosis::the_axis_is_gone__use_those_of_the_handle_that_its_step_returned},
  };
  for (auto const& c : cases) {
    scheduled t;
    c.steps(t);
    CHECK(t.why() == c.why);
    CHECK(explain(t.s, "k").find("  try   ") != std::string::npos);
    if (c.why != diagnosis::the_stage_is_none_of_this_schedule)  // which has no name
      CHECK(weft::parse_trace(weft::print_trace(t.s), weft::schedule(t.p, all_extents{20})) == t.s.steps);
  }
}
