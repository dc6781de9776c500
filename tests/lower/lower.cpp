#include "weft/lower/lower.hpp"

#include <doctest/doctest.h>

#include "lower/programs.hpp"
#include "support/golden.hpp"
#include "weft/ir/simplify.hpp"

using namespace weft;
using weft_test::body, weft_test::lowered_program, weft_test::map_program;

namespace {
using loops = weft::sequence<std::int32_t> const&;
program doubled() {
  return map_program([](auto x, auto i) { return x(i) + x(i); });
}
std::string split_by(std::int64_t n, std::int64_t factor, void (*mark)(schedule&, axis)) {
  lowered_program l{doubled(), {{n}}};
  return body(l([&](schedule& s, loops o) {
    auto const parts = s.split(axis{o[0]}, factor);
    mark(s, parts[1]);
  }));
}
}  // namespace

TEST_CASE("a factor that divides leaves no guard, whatever runs inside") {
  char const* const whole =
      "for io in 0..4:\n  for ii in 0..8%s:\n    B[io * 8 + ii] = A[io * 8 + ii] + A[io * 8 + ii]\n";
  auto const expected = [&](char const* mark) {
    std::string s = whole;
    return s.replace(s.find("%s"), 2, mark);
  };
  CHECK(split_by(32, 8, [](schedule&, axis) {}) == expected(""));
  CHECK(split_by(32, 8, [](schedule& s, axis a) { s.unroll(a); }) == expected(" unrolled"));
  CHECK(split_by(32, 8, [](schedule& s, axis a) { s.vectorize(a); }) == expected(" vectorized"));
}
TEST_CASE("a tail ends a serial loop early and cuts a tile in two") {
  weft_test::check_golden("lower/tail_serial.ir", split_by(13, 8, [](schedule&, axis) {}));
  weft_test::check_golden("lower/tail_unrolled.ir", split_by(13, 8, [](schedule& s, axis a) { s.unroll(a); }));
  weft_test::check_golden("lower/tail_vectorized.ir", split_by(13, 8, [](schedule& s, axis a) { s.vectorize(a); }));
}
TEST_CASE("with masked tails a vectorized axis is not cut, an unrolled one is") {
  auto const text = [](void (*mark)(schedule&, axis)) {
    lowered_program l{doubled(), {{13}}};
    l.tails = vector_tails::mask;
    return body(l([&](schedule& s, loops o) { mark(s, s.split(axis{o[0]}, 8)[1]); }));
  };
  CHECK(text([](schedule& s, axis a) { s.vectorize(a); }).find("if ") == std::string::npos);
  CHECK(text([](schedule& s, axis a) { s.vectorize(a); }).find("where") != std::string::npos);
  CHECK(text([](schedule& s, axis a) { s.unroll(a); }).find("if ") != std::string::npos);
}
TEST_CASE("a part longer than its axis is cut to it") {
  CHECK(split_by(5, 64, [](schedule&, axis) {}).find("for ii in 0..5:") != std::string::npos);
}
TEST_CASE("a parallel loop runs over the ceiling, once") {
  lowered_program l{doubled(), {{13}}};
  std::string const text = body(l([](schedule& s, loops o) { s.parallel(s.split(axis{o[0]}, 4)[0]); }));
  CHECK(text.find("for io in 0..4 parallel:") == 0);
  CHECK(text.find("parallel", 30) == std::string::npos);
}
TEST_CASE("a reduction is one accumulate that names the loops of its first iteration") {
  lowered_program l{weft_test::matmul(), {{2, 3}, {3, 4}}};
  CHECK(body(l.plain()) ==
        "for i in 0..2:\n  for j in 0..4:\n    for k in 0..3:\n"
        "      accumulate C[i, j] = self + A[i, k] * B[k, j] from 0.0f32 first [k]\n");
  lowered_program split{weft_test::matmul(), {{2, 3}, {3, 4}}};
  std::string const text = body(split([](schedule& s, loops o) { s.split(axis{o[2]}, 2); }));
  CHECK(text.find("first [ko, ki]") != std::string::npos);
}
TEST_CASE("a reduction over nothing stores its identity, without a loop over it") {
  lowered_program l{weft_test::two_stages(), {{3, 0}}};
  CHECK(body(l([](schedule& s, loops o) { s.split(axis{o[1]}, 4); })).find("C[i] = -inf<f32>") != std::string::npos);
}
TEST_CASE("stages that no output needs are left out; intermediates get memory and a class of their own") {
  lowered_program l{weft_test::two_stages(), {{3, 4}}};
  ir::function const f = l.plain();
  REQUIRE(f.buffers.size() == 3);
  CHECK(f.buffers[2]->name == "C");
  CHECK(f.buffers[2]->where == ir::scope::heap);
  CHECK(f.buffers[2]->alignment == 64);
  CHECK(f.buffers[2]->alias_class != f.buffers[0]->alias_class);
  CHECK(f.buffers[2]->alias_class != f.buffers[1]->alias_class);

  program p = weft_test::two_stages();
  p.outputs = {p.stages[0].tensor};  // C alone: D is needed by nobody
  lowered_program first{canonical(p), {{3, 4}}};
  ir::function const g = first.plain();
  CHECK(g.buffers.size() == 2);
  CHECK(body(g).find("D[") == std::string::npos);
}
TEST_CASE("names of loops and buffers are unique in the function") {
  lowered_program l{weft_test::two_stages(), {{3, 4}}};
  ir::function const f = l.plain();  // both stages have an i
  CHECK(f.variables == weft::sequence<std::string>{"i", "j", "i_1", "j_1"});
}
TEST_CASE("a load is masked by the select that guards it, unless it is inside anyway") {
  lowered_program l{map_program([](auto x, auto i) { return select(i > 0, x(i - 1), 5.0f); }), {{9}}};
  CHECK(body(l.plain()) == "for i in 0..9:\n  B[i] = select(0 < i, A[i - 1 where 0 < i], 5.0f32)\n");
  lowered_program inside{map_program([](auto x, auto i) { return select(i > 3, x(i), 5.0f); }), {{9}}};
  CHECK(body(inside.plain()) == "for i in 0..9:\n  B[i] = select(3 < i, A[i], 5.0f32)\n");
  lowered_program other{map_program([](auto x, auto i) { return select(i > 0, 5.0f, x(i - 1 + 1)); }), {{9}}};
  CHECK(body(other.plain()).find("where") == std::string::npos);
  // What is read under a condition stays so under this one and another.
  lowered_program again{map_program([](auto x, auto i) {
    auto const v = x(i - 1);
    return select(i > 0, select(v > 0.5f, v, 2.0f), 5.0f);
  }), {{9}}};
  CHECK(body(again.plain()) ==
        "for i in 0..9:\n  B[i] = select(0 < i, select(0.5f32 < A[i - 1 where 0 < i], A[i - 1 where 0 < i], 2.0f32), 5.0f32)\n");
}
TEST_CASE("open extents of one name are one size, and strides of packed tensors follow from them") {
  lowered_program l{weft_test::matmul(), {{2, 3}, {3, 4}}};
  l.dims = {{"m", "k"}, {"k", nullptr}};
  ir::function const f = l.plain();
  CHECK(f.sizes == weft::sequence<std::string>{"m", "k"});
  CHECK(body(f).find("for k_1 in 0..k:") != std::string::npos);
  CHECK(f.buffers[0]->strides[0] == f.buffers[0]->shape[1]);
  CHECK(ir::is_literal(f.buffers[0]->strides[1], 1));
  CHECK(ir::is_literal(f.buffers[1]->strides[0], 4));
  CHECK(f.buffers[2]->shape[0] == f.buffers[0]->shape[0]);
  CHECK(ir::is_literal(f.buffers[2]->strides[0], 4));
}
TEST_CASE("of other tensors with open extents the strides are sizes too, except 1, which is part of the key") {
  lowered_program l{weft_test::two_stages(), {{3, 4}}};
  l.dims = {{"n", nullptr}};
  call_layout layout = l.layout();
  layout.arguments[0].packed = false;
  layout.arguments[0].strides = {open_stride, 1};
  CHECK(open_sizes_of(layout).size() == 2);
  ir::function const f = lower(l.m, l.p, nest(l.p, [](int, int) { return std::int64_t(-1); }, {}), layout, "k");
  CHECK(f.sizes == weft::sequence<std::string>{"n", "s0_0"});
  CHECK(f.buffers[0]->strides[0]->kind == op::extent);
  CHECK(ir::is_literal(f.buffers[0]->strides[1], 1));
}
TEST_CASE("under open extents a split leaves a tail, and a serial part that surely runs is not asked whether it does") {
  lowered_program l{doubled(), {{13}}};
  l.dims = {{"n"}};
  ir::function f = l([](schedule& s, loops o) { s.split(axis{o[0]}, 8); });
  f.body = simplify(l.m, f.body);
  CHECK(body(f).find("for io in 0..(n + 7) // 8:\n  for ii in 0..min(8, n + io * -8):") == 0);
  lowered_program t{doubled(), {{13}}};
  t.dims = {{"n"}};
  std::string const tile = body(t([](schedule& s, loops o) { s.vectorize(s.split(axis{o[0]}, 8)[1]); }));
  CHECK(tile.find("if io * 8 + 7 < n:") != std::string::npos);
  CHECK(tile.find("where io * 8 + ii < n") != std::string::npos);
}
TEST_CASE("loops may be nested in any order: a guard stands at the innermost loop that it needs") {
  lowered_program l{doubled(), {{13}}};
  std::string const text = body(l([](schedule& s, loops o) {
    auto const [io, ii] = s.split(axis{o[0]}, 8);
    s.reorder(ii, io);
  }));
  CHECK(text.find("for ii in 0..8:\n  for io in 0..min(2, ") == 0);
}
