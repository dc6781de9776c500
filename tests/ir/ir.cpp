#include "weft/ir/ir.hpp"

#include <doctest/doctest.h>

#include <weft/base/sequence.hpp>

using namespace weft;
using ir::index;

namespace {
/// Hands out a variable and data: a load that nothing is known of.
struct world {
  ir::arena m;
  ir::buffer* a = m.make_buffer();
  ir::expr i = ir::variable(m, 0), j = ir::variable(m, 1);
  world() {
    a->type = dtype::f32;
    a->shape = m.make_list(weft::sequence<ir::expr>{index(m, 10)});
    a->strides = m.make_list(weft::sequence<ir::expr>{index(m, 1)});
  }
  ir::expr op2(op o, ir::expr x, ir::expr y) { return ir::binary(m, o, x, y); }
  ir::expr number(dtype t, std::int64_t bits) { return ir::literal(m, t, bits); }
  ir::expr data(ir::expr mask = nullptr) { return ir::load(m, a, {i}, mask); }
};
}  // namespace

TEST_CASE("equal expressions are one node, different ones are not") {
  world w;
  CHECK(w.op2(op::add, w.i, w.j) == w.op2(op::add, w.i, w.j));
  CHECK(w.op2(op::add, w.i, w.j) != w.op2(op::add, w.j, w.i));
  CHECK(w.number(dtype::i32, 1) != w.number(dtype::i64, 1));
  CHECK(ir::literal(w.m, dtype::i32, 1, 4) != w.number(dtype::i32, 1));
  CHECK(w.data() == w.data());
  CHECK(w.data() != w.data(w.op2(op::lt, w.i, w.j)));
  ir::buffer* other = w.m.make_buffer();
  *other = *w.a;
  other->id = 1;
  CHECK(ir::load(w.m, other, {w.i}) != w.data());
}
TEST_CASE("nodes stay where they are, and one node, however many are made") {
  world w;
  weft::sequence<ir::expr> made;
  for (int k = 0; k < 5000; ++k) made.push_back(w.op2(op::add, w.i, index(w.m, k + 1)));
  for (int k = 0; k < 5000; ++k) {
    CHECK(made[static_cast<std::size_t>(k)]->b->value == k + 1);
    CHECK(w.op2(op::add, w.i, index(w.m, k + 1)) == made[static_cast<std::size_t>(k)]);
  }
}
TEST_CASE("ids are handed out in the order of making") {
  world w;
  std::uint32_t const next = w.m.expressions();
  CHECK(w.op2(op::mul, w.i, w.j)->id == next);
  CHECK(w.op2(op::mul, w.i, w.j)->id == next);
  CHECK(w.m.expressions() == next + 1);
}
TEST_CASE("literals fold to what base/op.hpp says") {
  world w;
  weft::sequence<std::int64_t> const values{0, 1, -1, 2, 7, -8, 100, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN};
  weft::sequence<op> const all{op::add,       op::sub, op::mul, op::div,     op::rem,    op::floor_div,
                               op::floor_mod, op::min, op::max, op::bit_and, op::bit_or, op::bit_xor,
                               op::shl,       op::shr, op::lt,  op::le,      op::eq,     op::ne};
  for (op o : all)
    for (std::int64_t x : values)
      for (std::int64_t y : values) {
        ir::expr const e = w.op2(o, w.number(dtype::i64, x), w.number(dtype::i64, y));
        REQUIRE(e->kind == op::literal);
        CHECK(e->value == apply(o, dtype::i64, x, y));
        CHECK(e->type == (is_comparison(o) ? dtype::boolean : dtype::i64));
      }
  CHECK(ir::cast(w.m, op::cast, dtype::u8, w.number(dtype::i32, 257))->value == 1);
  CHECK(ir::cast(w.m, op::cast, dtype::i32, w.number(dtype::f32, to_bits(-2.9f)))->value == -2);
  CHECK(ir::ternary(w.m, op::fma, w.number(dtype::f64, to_bits(2.0)), w.number(dtype::f64, to_bits(3.0)),
                    w.number(dtype::f64, to_bits(1.0)))->value == to_bits(7.0));
}
TEST_CASE("integers and conditions drop what has no effect") {
  world w;
  ir::expr const zero = index(w.m, 0), one = index(w.m, 1);
  ir::expr const yes = w.number(dtype::boolean, 1), no = w.number(dtype::boolean, 0), c = w.op2(op::lt, w.i, w.j);
  CHECK(w.op2(op::add, w.i, zero) == w.i);
  CHECK(w.op2(op::add, zero, w.i) == w.i);
  CHECK(w.op2(op::sub, w.i, w.i) == zero);
  CHECK(w.op2(op::mul, w.i, one) == w.i);
  CHECK(w.op2(op::mul, zero, w.i) == zero);
  CHECK(w.op2(op::floor_div, w.i, one) == w.i);
  CHECK(w.op2(op::floor_mod, w.i, one) == zero);
  CHECK(w.op2(op::min, w.i, w.i) == w.i);
  CHECK(w.op2(op::le, w.i, w.i) == yes);
  CHECK(w.op2(op::ne, w.i, w.i) == no);
  CHECK(w.op2(op::logical_and, c, yes) == c);
  CHECK(w.op2(op::logical_and, no, c) == no);
  CHECK(w.op2(op::logical_or, c, no) == c);
  CHECK(w.op2(op::logical_or, yes, c) == yes);
  ir::expr const all = index(w.m, -1);
  CHECK(w.op2(op::bit_and, w.i, zero) == zero);
  CHECK(w.op2(op::bit_and, all, w.i) == w.i);
  CHECK(w.op2(op::bit_and, w.i, w.i) == w.i);
  CHECK(w.op2(op::bit_or, zero, w.i) == w.i);
  CHECK(w.op2(op::bit_or, w.i, all) == all);
  CHECK(w.op2(op::bit_xor, w.i, zero) == w.i);
  CHECK(w.op2(op::bit_xor, w.i, w.i) == zero);
  CHECK(w.op2(op::bit_and, no, c) == no);
  CHECK(w.op2(op::bit_and, c, yes) == c);
  CHECK(w.op2(op::bit_or, c, yes) == yes);
  CHECK(w.op2(op::bit_xor, c, no) == c);
  CHECK(w.op2(op::bit_xor, c, c) == no);
  CHECK(w.op2(op::bit_and, w.i, one) != w.i);
  CHECK(w.op2(op::bit_xor, c, yes) != c);
  ir::expr const byte = ir::cast(w.m, op::cast, dtype::u8, w.i);
  CHECK(w.op2(op::bit_and, byte, w.number(dtype::u8, 255)) == byte);
  CHECK(w.op2(op::bit_or, byte, w.number(dtype::u8, 255)) == w.number(dtype::u8, 255));
  CHECK(w.op2(op::bit_and, byte, w.number(dtype::u8, 127)) != byte);
  CHECK(ir::unary(w.m, op::neg, ir::unary(w.m, op::neg, w.i)) == w.i);
  CHECK(ir::ternary(w.m, op::select, yes, w.i, w.j) == w.i);
  CHECK(ir::ternary(w.m, op::select, c, w.i, w.i) == w.i);
}
TEST_CASE("of floats nothing is dropped: -0 + 0 and NaN are other values") {
  world w;
  ir::expr const x = w.data(), zero = w.number(dtype::f32, 0), one = w.number(dtype::f32, to_bits(1.0f));
  CHECK(w.op2(op::add, x, zero) != x);
  CHECK(w.op2(op::mul, x, one) != x);
  CHECK(w.op2(op::mul, x, zero) != zero);
  CHECK(w.op2(op::sub, x, x)->kind == op::sub);
  CHECK(w.op2(op::eq, x, x)->kind == op::eq);
}
TEST_CASE("ramps stay ramps under sums and products with what is equal in all lanes") {
  world w;
  ir::expr const r = ir::ramp(w.m, w.i, 1, 4), b = ir::broadcast(w.m, w.j, 4);
  ir::expr const sum = w.op2(op::add, r, b);
  REQUIRE(sum->kind == op::ramp);
  CHECK(sum->a == w.op2(op::add, w.i, w.j));
  CHECK(sum->value == 1);
  ir::expr const scaled = w.op2(op::mul, ir::literal(w.m, dtype::i64, 3, 4), r);
  REQUIRE(scaled->kind == op::ramp);
  CHECK(scaled->value == 3);
  CHECK(w.op2(op::sub, r, b)->value == 1);
  CHECK(w.op2(op::add, r, r)->value == 2);
  CHECK(w.op2(op::mul, b, b)->kind == op::broadcast);
  CHECK(ir::ramp(w.m, w.i, 0, 4) == ir::broadcast(w.m, w.i, 4));
  CHECK(ir::ramp(w.m, w.i, 5, 1) == w.i);
  CHECK(ir::broadcast(w.m, r, 4) == r);
  CHECK(ir::broadcast(w.m, w.number(dtype::i64, 3), 8)->kind == op::literal);
}
TEST_CASE("a load has the lanes of its indices or mask; a mask of true goes, one of false makes it 0") {
  world w;
  ir::expr const r = ir::ramp(w.m, w.i, 1, 8), mask = w.op2(op::lt, r, ir::broadcast(w.m, w.j, 8));
  CHECK(ir::load(w.m, w.a, {r})->lanes == 8);
  CHECK(w.data(mask)->lanes == 8);
  CHECK(w.data(w.number(dtype::boolean, 1)) == w.data());
  CHECK(w.data(w.number(dtype::boolean, 0)) == w.number(dtype::f32, 0));
}
TEST_CASE("all_of joins conditions of any lanes; null means true") {
  world w;
  ir::expr const c = w.op2(op::lt, w.i, w.j);
  ir::expr const v = w.op2(op::lt, ir::ramp(w.m, w.i, 1, 4), ir::broadcast(w.m, w.j, 4));
  CHECK(ir::all_of(w.m, nullptr, nullptr) == nullptr);
  CHECK(ir::all_of(w.m, c, nullptr) == c);
  CHECK(ir::all_of(w.m, nullptr, v) == v);
  CHECK(ir::all_of(w.m, c, v)->lanes == 4);
  CHECK(ir::all_of(w.m, c, c) == c);
}
TEST_CASE("blocks are flat, one statement stands for itself, and nothing stands for nothing") {
  world w;
  ir::stmt_node n;
  n.kind = ir::stmt_kind::store;
  n.buf = w.a;
  n.value = w.number(dtype::f32, 0);
  n.indices = w.m.make_list(weft::sequence<ir::expr>{w.i});
  ir::stmt const s = w.m.make(n);
  CHECK(ir::block(w.m, {s}) == s);
  CHECK(ir::block(w.m, {nullptr, s}) == s);
  ir::stmt const three = ir::block(w.m, {ir::block(w.m, {s, s}), s, ir::block(w.m, {})});
  CHECK(three->children.size() == 3);
  CHECK(ir::branch(w.m, w.number(dtype::boolean, 1), s) == s);
  CHECK(ir::branch(w.m, w.number(dtype::boolean, 0), s)->children.size() == 0);
  CHECK(ir::branch(w.m, w.number(dtype::boolean, 0), s, three) == three);
}
TEST_CASE("substitution replaces a variable everywhere, in indices and masks too, and nothing else") {
  world w;
  ir::expr const mask = w.op2(op::lt, w.i, w.j);
  ir::expr const e = w.op2(op::add, w.data(mask), ir::cast(w.m, op::cast, dtype::f32, w.j));
  CHECK(ir::uses(e, 0));
  CHECK(ir::uses(e, 1));
  CHECK_FALSE(ir::uses(e, 2));
  ir::expr const done = ir::substitute(w.m, e, 0, index(w.m, 4));
  CHECK_FALSE(ir::uses(done, 0));
  CHECK(done->a->indices[0] == index(w.m, 4));
  CHECK(done->a->a == w.op2(op::lt, index(w.m, 4), w.j));
  CHECK(ir::substitute(w.m, e, 7, w.i) == e);
  CHECK(ir::substitute(w.m, e, 0, w.i) == e);
  // What the substitution makes is not substituted again.
  CHECK(ir::substitute(w.m, w.i, 0, w.op2(op::add, w.i, w.j)) == w.op2(op::add, w.i, w.j));
}
TEST_CASE("a store under a mask that became false disappears, under true it loses the mask") {
  world w;
  ir::stmt_node n;
  n.kind = ir::stmt_kind::store;
  n.buf = w.a;
  n.value = w.number(dtype::f32, 0);
  n.indices = w.m.make_list(weft::sequence<ir::expr>{w.i});
  n.mask = w.op2(op::lt, w.j, index(w.m, 3));
  ir::stmt const s = w.m.make(n);
  CHECK(ir::substitute(w.m, s, 1, index(w.m, 2))->mask == nullptr);
  ir::stmt const gone = ir::substitute(w.m, s, 1, index(w.m, 3));
  CHECK(gone->kind == ir::stmt_kind::block);
  CHECK(gone->children.size() == 0);
}
TEST_CASE("which loop variables an expression reads is known however often its parts are shared") {
  world w;
  auto const deep = [&](ir::expr e) {
    for (int n = 0; n < 100; ++n) e = w.op2(op::add, w.op2(op::mul, e, e), e);  // 3^100 ways to the bottom
    return e;
  };
  ir::expr const near = deep(w.op2(op::add, w.i, ir::variable(w.m, 62)));
  ir::expr const far = deep(w.op2(op::add, w.i, ir::load(w.m, w.a, {ir::variable(w.m, 64)})));
  auto const used = [](ir::expr e, std::initializer_list<std::int32_t> numbers) {
    bool all = true;
    for (std::int32_t n = 0; n < 70; ++n) {
      bool expected = false;
      for (std::int32_t m : numbers) expected = expected || m == n;
      all = all && ir::uses(e, n) == expected;
    }
    return all;
  };
  CHECK(used(near, {0, 62}));
  CHECK(used(far, {0, 64}));
  CHECK(used(ir::substitute(w.m, far, 64, ir::variable(w.m, 63)), {0, 63}));
  CHECK(used(ir::substitute(w.m, far, 64, w.j), {0, 1}));
  CHECK_FALSE(ir::uses(nullptr, 0));
}
