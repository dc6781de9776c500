#include "weft/ir/simplify.hpp"

#include <doctest/doctest.h>

#include <string>
#include <weft/base/sequence.hpp>

#include "fuzz/random.hpp"
#include "weft/interp/interp.hpp"
#include "weft/ir/linear.hpp"
#include "weft/ir/parse.hpp"
#include "weft/ir/print.hpp"

using namespace weft;
using ir::index;

namespace {
struct world {
  ir::arena m;
  range_table ranges;
  ir::expr i = ir::variable(m, 0), j = ir::variable(m, 1), data = nullptr;
  world() {
    ranges.set(0, interval{0, 9});
    ranges.set(1, interval{2, 5});
    ir::buffer* b = m.make_buffer();
    b->type = dtype::i64;
    b->shape = m.make_list(weft::sequence<ir::expr>{index(m, 10)});
    b->strides = m.make_list(weft::sequence<ir::expr>{index(m, 1)});
    data = ir::load(m, b, {index(m, 0)});  // any i64
  }
  ir::expr op2(op o, ir::expr a, ir::expr b) { return ir::binary(m, o, a, b); }
  ir::expr add(ir::expr a, std::int64_t c) { return op2(op::add, a, index(m, c)); }
  ir::expr times(ir::expr a, std::int64_t c) { return op2(op::mul, a, index(m, c)); }
  ir::expr simple(ir::expr e) { return simplify(m, e, ranges); }
  bool is(ir::expr e, bool value) { return simple(e)->kind == op::literal && simple(e)->value == value; }
};
/// The value of an expression over the variables 0 and 1.
std::int64_t value(ir::expr e, std::int64_t i, std::int64_t j) {
  if (e->kind == op::literal) return e->value;
  if (e->kind == op::axis) return e->value == 0 ? i : j;
  return apply(e->kind, e->kind == op::select ? e->b->type : e->a->type, value(e->a, i, j),
               e->b ? value(e->b, i, j) : 0, e->c ? value(e->c, i, j) : 0, e->type);
}
std::int64_t linear_form_constant(ir::expr e) { return detail::linear_form(e).constant; }
std::string simplified(std::string const& body) {
  ir::arena m;
  ir::function f = ir::parse(m,
                             "kernel k:\n  sizes n\n  variables i, j, k\n"
                             "  buffer A: f32[10] strides [1] in argument 0 alias 0 align 4\n"
                             "  buffer B: f32[64] strides [1] in argument 1 written alias 1 align 4\n" + body);
  return ir::print(simplify(m, f.body), f);
}
}  // namespace

TEST_CASE("equal linear forms become equal nodes, however they were written") {
  world w;
  ir::expr const a = w.op2(op::add, w.times(w.add(w.i, 3), 2), w.op2(op::sub, w.j, w.i));
  ir::expr const b = w.op2(op::add, w.add(w.j, 6), w.i);
  CHECK(a != b);
  CHECK(w.simple(a) == w.simple(b));
  CHECK(w.simple(w.op2(op::sub, a, b)) == index(w.m, 0));
}
TEST_CASE("ranges of linear forms are exact") {
  world w;
  auto const range = [&](ir::expr e, std::int64_t low, std::int64_t high) {
    interval const r = w.ranges.of(e);
    CHECK(r.low == low);
    CHECK(r.high == high);
  };
  range(w.op2(op::sub, w.times(w.i, 3), w.j), -5, 25);
  range(w.op2(op::sub, w.i, w.i), 0, 0);
  range(w.op2(op::floor_div, w.add(w.i, -5), index(w.m, 2)), -3, 2);
  range(w.op2(op::floor_mod, w.data, index(w.m, 4)), 0, 3);
  range(w.op2(op::min, w.op2(op::max, w.data, index(w.m, 0)), index(w.m, 7)), 0, 7);
  range(w.op2(op::rem, w.data, index(w.m, 4)), -3, 3);
}
TEST_CASE("comparisons are decided where the ranges decide them, for every lane") {
  world w;
  CHECK(w.is(w.op2(op::lt, w.i, index(w.m, 10)), true));
  CHECK(w.is(w.op2(op::lt, w.i, w.add(w.i, 1)), true));
  CHECK(w.is(w.op2(op::lt, w.i, index(w.m, 0)), false));
  CHECK(w.simple(w.op2(op::le, w.add(w.j, 7), w.i))->kind == op::le);
  CHECK(w.is(w.op2(op::eq, w.i, index(w.m, 10)), false));
  CHECK(w.is(w.op2(op::ne, w.add(w.i, 20), w.j), true));
  CHECK(w.simple(w.op2(op::lt, w.i, index(w.m, 9)))->kind == op::lt);
  ir::expr const lanes = ir::ramp(w.m, w.j, 1, 4);  // up to 8
  CHECK(w.simple(w.op2(op::lt, lanes, ir::literal(w.m, dtype::i64, 9, 4)))->kind == op::literal);
  CHECK(w.simple(w.op2(op::lt, lanes, ir::literal(w.m, dtype::i64, 8, 4)))->kind == op::lt);
  ir::expr const back = ir::ramp(w.m, w.j, -1, 4);  // from -1
  CHECK(w.simple(w.op2(op::le, ir::literal(w.m, dtype::i64, -1, 4), back))->kind == op::literal);
  CHECK(w.simple(w.op2(op::le, ir::literal(w.m, dtype::i64, 0, 4), back))->kind == op::le);
}
TEST_CASE("where both sides are multiples of a number, what is less than it is not asked for") {
  world w;
  w.ranges.set(2, interval{1, 30});
  ir::expr const n = ir::variable(w.m, 2), bound = w.times(n, 16), four = w.times(w.i, 4);
  ir::expr const first = w.simple(w.op2(op::lt, four, bound)), behind = w.simple(w.op2(op::le, bound, four));
  for (std::int64_t r : {1, 2, 3}) {
    CHECK(w.simple(w.op2(op::lt, w.add(four, r), bound)) == first);
    CHECK(w.simple(w.op2(op::le, bound, w.add(four, r))) == behind);
    CHECK(w.simple(w.op2(op::lt, w.add(four, r), w.add(bound, 1))) != first);
    CHECK(w.simple(w.op2(op::le, w.add(four, r), bound)) != w.simple(w.op2(op::le, four, bound)));
  }
  CHECK(w.simple(w.op2(op::lt, w.add(four, 4), bound)) != first);
  CHECK(w.simple(w.op2(op::lt, w.add(four, 7), bound)) == w.simple(w.op2(op::lt, w.add(four, 4), bound)));
  CHECK(w.simple(w.op2(op::lt, w.add(four, 3), index(w.m, 20))) == w.simple(w.op2(op::lt, four, index(w.m, 20))));
  // Data may wrap.
  ir::expr const any = w.times(w.data, 4);
  CHECK(w.simple(w.op2(op::lt, w.add(any, 3), bound)) != w.simple(w.op2(op::lt, any, bound)));
}
TEST_CASE("comparisons of multiples keep their value at every point") {
  weft_test::fuzz::random_source r(20261123);
  int shorter = 0;
  for (int round = 0; round < 4000; ++round) {
    world w;
    std::int64_t const g = r.between(2, 8), rest = r.between(-20, 20), other = r.one_of({0, 0, 0, 1, 2}) * r.between(-9, 9);
    auto const some = [&](ir::expr e) { return w.times(e, g * r.between(-4, 4)); };
    ir::expr const a = w.add(w.op2(op::add, some(w.i), some(w.j)), rest), b = w.add(some(r.one_of({w.i, w.j})), other + g * r.between(-6, 6));
    for (op o : {op::lt, op::le, op::eq, op::ne}) {
      ir::expr const asked = w.op2(o, a, b), s = w.simple(asked);
      CAPTURE(round);
      for (std::int64_t i = 0; i <= 9; ++i)
        for (std::int64_t j = 2; j <= 5; ++j) CHECK(value(s, i, j) == value(asked, i, j));
      CHECK(w.simple(s) == s);
      if (s->kind == op::lt) shorter += linear_form_constant(s->a) != linear_form_constant(w.simple(a));
    }
  }
  CHECK(shorter > 100);
}
TEST_CASE("of two bounds the one that always holds is not asked for") {
  world w;
  auto const least = [&](ir::expr x) { return w.op2(op::min, index(w.m, 6), x); };
  ir::expr const left = w.op2(op::sub, index(w.m, 56), w.times(w.i, 6));  // from 2 on
  CHECK(w.simple(w.op2(op::lt, index(w.m, 5), least(left))) == w.simple(w.op2(op::lt, index(w.m, 5), left)));
  CHECK(w.is(w.op2(op::lt, index(w.m, 6), least(left)), false));
  CHECK(w.is(w.op2(op::lt, index(w.m, 1), least(left)), true));
  CHECK(w.simple(w.op2(op::le, w.op2(op::max, index(w.m, 0), w.add(w.i, -5)), index(w.m, 3))) == w.simple(w.op2(op::le, w.add(w.i, -5), index(w.m, 3))));
  // Both may fail.
  CHECK(w.simple(w.op2(op::lt, w.add(w.j, 2), least(left)))->b->kind == op::min);
}
TEST_CASE("of many bounds on both sides, of which none is decided, as many are asked for as time allows") {
  world w;
  auto const sum = [&](std::int64_t i, std::int64_t j, std::int64_t c) { return w.add(w.op2(op::add, w.times(w.i, i), w.times(w.j, j)), c); };
  ir::expr most = sum(0, 15, 0), least = sum(-1, 18, -8);
  for (int n = 1; n < 15; ++n) most = w.op2(op::max, most, sum(n, 15 - n, 0)), least = w.op2(op::min, least, sum(n - 1, 18 - n, -8));
  ir::expr const both = w.op2(op::lt, most, least), same = w.simple(both);
  bool seen[2] = {false, false};
  for (std::int64_t i = 0; i <= 9; ++i)
    for (std::int64_t j = 2; j <= 5; ++j) {
      std::int64_t const holds = value(both, i, j);
      CHECK(value(same, i, j) == holds);
      seen[holds] = true;
    }
  CHECK(seen[0]);
  CHECK(seen[1]);
}
TEST_CASE("data of type i64 may wrap: nothing is decided of it by linear forms") {
  world w;
  ir::expr const more = w.add(w.data, 5);
  CHECK(w.simple(w.op2(op::lt, w.data, more))->kind == op::lt);       // false near the largest
  CHECK(w.simple(w.op2(op::min, w.data, more))->kind == op::min);
  CHECK(w.simple(w.op2(op::max, index(w.m, INT64_MIN), w.data))->kind == op::max);  // a bound as large as "unbounded"
  CHECK(w.simple(w.op2(op::floor_div, w.times(w.data, 4), index(w.m, 4)))->kind == op::floor_div);
  CHECK(w.simple(w.op2(op::floor_mod, w.add(w.times(w.data, 4), 1), index(w.m, 4))) != index(w.m, 1));
  // Sums are modulo 2^64 in both forms.
  CHECK(w.simple(w.op2(op::sub, more, w.data)) == index(w.m, 5));
  CHECK(w.simple(w.add(index(w.m, INT64_MAX), 1)) == index(w.m, INT64_MIN));
  CHECK(w.simple(w.times(w.add(w.data, INT64_MAX), 2))->b == index(w.m, -2));
}
TEST_CASE("a quotient takes out the multiples of its divisor") {
  world w;
  ir::expr const e = w.op2(op::add, w.times(w.i, 8), w.j);
  CHECK(w.simple(w.op2(op::floor_div, e, index(w.m, 8))) == w.i);
  CHECK(w.simple(w.op2(op::floor_mod, e, index(w.m, 8))) == w.j);
  CHECK(w.simple(w.op2(op::floor_div, w.add(e, 8), index(w.m, 8))) == w.simple(w.add(w.i, 1)));
  CHECK(w.simple(w.op2(op::floor_div, w.times(w.i, 2), index(w.m, 4)))->kind == op::floor_div);
}
TEST_CASE("a simplified expression has the value of the original at every point of the ranges") {
  weft_test::fuzz::random_source r(11);
  for (int round = 0; round < 2000; ++round) {
    world w;
    weft::sequence<ir::expr> pool{w.i, w.j, index(w.m, r.between(-9, 9)), index(w.m, r.between(1, 6))};
    weft::sequence<ir::expr> truths;
    for (int n = r.between(1, 8); n > 0; --n) {
      op const o = r.one_of({op::add, op::add, op::sub, op::mul, op::min, op::max, op::floor_div, op::floor_mod,
                             op::div, op::rem, op::neg, op::lt, op::le, op::eq, op::ne, op::select});
      ir::expr const a = r.one_of(pool), b = r.one_of(pool);
      if (o == op::neg) pool.push_back(ir::unary(w.m, o, a));
      else if (o == op::select) {
        if (!truths.empty()) pool.push_back(ir::ternary(w.m, o, r.one_of(truths), a, b));
      } else {
        (is_comparison(o) ? truths : pool).push_back(w.op2(o, a, b));
      }
    }
    weft::sequence<ir::expr> all{pool.back()};
    if (!truths.empty()) all.push_back(truths.back());
    for (ir::expr e : all) {
      ir::expr const s = w.simple(e);
      bool same = true;
      interval const range = e->type == dtype::i64 ? w.ranges.of(e) : interval{};
      for (std::int64_t i = 0; i <= 9; ++i)
        for (std::int64_t j = 2; j <= 5; ++j) {
          std::int64_t const v = value(e, i, j);
          same = same && value(s, i, j) == v && v >= range.low && v <= range.high;
        }
      ir::function const f{"k", &w.m, {}, {}, {}, {"i", "j"}, nullptr};
      INFO("round " << round << ": " << ir::print(e, f) << "  ->  " << ir::print(s, f));
      CHECK(same);
      CHECK(w.simple(s) == s);  // idempotent
    }
  }
}
TEST_CASE("a quotient and a remainder of one number are put together, and taken apart by a common factor") {
  world w;
  auto const by = [&](op o, ir::expr a, std::int64_t c) { return w.op2(o, a, index(w.m, c)); };
  ir::expr const f = w.op2(op::add, w.times(w.i, 8), w.j);  // j is below 8
  CHECK(w.simple(by(op::floor_div, f, 24)) == w.simple(by(op::floor_div, w.i, 3)));
  CHECK(w.simple(by(op::floor_mod, f, 24)) ==
        w.simple(w.op2(op::add, w.times(by(op::floor_mod, w.i, 3), 8), w.j)));
  for (std::int64_t c : {3, 7, 8, 20, 24, 48}) {
    ir::expr const q = by(op::floor_div, f, c), r = by(op::floor_mod, f, c);
    CHECK(w.simple(w.op2(op::add, w.times(q, 5 * c), w.times(r, 5))) == w.simple(w.times(f, 5)));
    CHECK(w.simple(w.op2(op::sub, w.times(q, c), r)) != w.simple(f));
    for (ir::expr e : {q, r, w.op2(op::add, w.times(q, c), r)}) CHECK(w.simple(w.simple(e)) == w.simple(e));
  }
  // Data of type i64 too: no number is lost where a quotient wraps.
  ir::expr const d = w.data;
  CHECK(w.simple(w.op2(op::add, w.times(by(op::floor_div, d, 9), 9), by(op::floor_mod, d, 9))) == d);
}
TEST_CASE("quotients and remainders by any number keep their values, in each lane") {
  weft_test::fuzz::random_source r(20261121);
  for (int n = 0; n < 2000; ++n) {
    world w;
    std::int64_t const c = r.between(1, 40), a = r.between(-12, 12), b = r.between(-3, 3), d = r.between(-50, 50);
    int const lanes = r.one_of({1, 2, 4, 8});
    std::int64_t const step = r.between(1, 3);
    ir::expr const f = w.add(w.op2(op::add, w.times(w.i, a), w.times(w.j, b)), d);
    for (op o : {op::floor_div, op::floor_mod}) {
      ir::expr const whole = w.simple(w.op2(o, ir::ramp(w.m, f, step, lanes), ir::literal(w.m, dtype::i64, c, lanes)));
      for (std::int64_t i = 0; i <= 9; ++i)
        for (std::int64_t j = 2; j <= 5; ++j)
          for (int lane = 0; lane < lanes; ++lane) {
            std::int64_t const x = a * i + b * j + d + lane * step;
            ir::expr e = whole;
            std::int64_t found = 0;
            if (lanes == 1) found = value(e, i, j);
            else if (e->kind == op::broadcast || e->kind == op::ramp) found = value(e->a, i, j) + lane * e->value;
            else if (e->kind == op::literal) found = e->value;
            else continue;
            CAPTURE(c);
            CHECK(found == apply(o, dtype::i64, x, c));
          }
    }
  }
}
TEST_CASE("loops of one iteration, of none, and branches never taken disappear") {
  CHECK(simplified("  for i in 0..1:\n    B[i] = A[i]\n") == "B[0] = A[0]\n");
  CHECK(simplified("  for i in 3..4:\n    B[i] = A[i]\n") == "B[3] = A[3]\n");
  CHECK(simplified("  for i in 0..0:\n    B[i] = A[i]\n  B[7] = 1.0f32\n") == "B[7] = 1.0f32\n");
  CHECK(simplified("  for i in 0..8:\n    if i < 8:\n      B[i] = A[i]\n    else:\n      B[i] = 0.0f32\n") ==
        "for i in 0..8:\n  B[i] = A[i]\n");
}
TEST_CASE("a loop of at most one iteration becomes a branch") {
  CHECK(simplified("  for i in 0..7:\n    for j in 0..min(1, 5 - i):\n      B[i + j] = A[i]\n") ==
        "for i in 0..7:\n  if 0 < i * -1 + 5:\n    B[i] = A[i]\n");
}
TEST_CASE("in a branch the condition holds, in the other one it does not") {
  CHECK(simplified("  for i in 0..10:\n    if i < 4:\n      B[i] = A[i where i < 6]\n"
                   "    else:\n      B[i] = A[min(i, 3)]\n") ==
        "for i in 0..10:\n  if i < 4:\n    B[i] = A[i]\n  else:\n    B[i] = A[3]\n");
}
TEST_CASE("what a branch says is known to the last number") {
  CHECK(simplified("  for i in 0..10:\n    if i < 4:\n      B[i] = A[i where i < 4]\n"
                   "    else:\n      B[i] = A[i where 4 <= i]\n") ==
        "for i in 0..10:\n  if i < 4:\n    B[i] = A[i]\n  else:\n    B[i] = A[i]\n");
  CHECK(simplified("  for i in 0..10:\n    if i < 4:\n      B[i] = A[i where i < 3]\n"
                   "    else:\n      B[i] = A[i where 5 <= i]\n")
            .find("A[i]") == std::string::npos);
}
TEST_CASE("of tiles in pieces the one that is cut is known by how much") {
  // 64 rows in tiles of 6, six of them in a piece: the eleventh has four rows.
  std::string const head = "for i in 0..2:\n  for j in 0..min(6, i * -6 + 11):\n    if i * 36 + j * 6 + 5 < 64:\n      B[i * 36 + j * 6] = 1.0f32\n";
  std::string const cut = "      B[i * 36 + j * 6] = A[3 where i * 36 + j * 6 + 3 < 64]\n      B[i * 36 + j * 6 + 1] = A[4 where 68 <= i * 36 + j * 6 + 4 + 4]\n";
  auto const with = [&](std::string const& first, std::string const& second) {
    return head + "    else:\n      B[i * 36 + j * 6] = " + first + "\n      B[i * 36 + j * 6 + 1] = " + second + "\n";
  };
  auto const indented = [](std::string text) {
    std::string all = "  ";
    for (std::size_t i = 0; i < text.size(); ++i) all += text[i], all += text[i] == '\n' && i + 1 < text.size() ? "  " : "";
    return all;
  };
  CHECK(simplified(indented(head + "    else:\n" + cut)) == with("A[3]", "A[4]"));
  CHECK(simplified(indented(with("A[3 where i * 36 + j * 6 + 4 < 64]", "A[4 where 60 < i * 36 + j * 6]"))) == with("0.0f32", "0.0f32"));
  // Of open sizes, in a tile that is whole no end is near.
  CHECK(simplified("  for i in 0..(n + 31) // 32:\n    if i * 32 + 31 < n:\n      for j in 0..(min(32, n - i * 32) + 15) // 16:\n        B[j] = A[3 where i * 32 + 30 < n]\n"
                   "    else:\n      for j in 0..(min(32, n - i * 32) + 15) // 16:\n        B[j] = A[3]\n") ==
        "for i in 0..(n + 31) // 32:\n  if i * 32 + 31 < n:\n    for j in 0..2:\n      B[j] = A[3]\n  else:\n    for j in 0..i * -2 + (n + 15) // 16:\n      B[j] = A[3]\n");
  // Where both pieces may have six tiles, the twelfth has no rows, and which one is cut is not known.
  std::string const other = "for i in 0..2:\n  for j in 0..6:\n    if i * 36 + j * 6 + 5 < 64:\n      B[i] = 1.0f32\n    else:\n      B[i] = A[3 where i * 36 + j * 6 < 64]\n";
  CHECK(simplified(indented(other)) == other);
}
TEST_CASE("loops in loops, with branches on sums inside of branches, compute what they did") {
  weft_test::fuzz::random_source r(20261128);
  auto const number = [&](int low, int high) { return std::to_string(r.between(low, high)); };
  auto const sum = [&](bool sizes) {
    std::string text = r.one_of({"i * ", "i * -"}) + number(0, 12) + r.one_of({" + j * ", " + j * -"}) + number(0, 6);
    if (r.chance(50)) text += r.one_of({" + k * ", " + k * -"}) + number(0, 4);
    if (sizes) text += r.one_of({" + n", " - n"});
    return text + " + " + number(-9, 9);
  };
  std::string same = sum(false);  // of the branch, as those inside of it often ask about
  int limit = 0;
  auto const condition = [&] { return r.chance(60) ? same + r.one_of({" < ", " <= "}) + std::to_string(limit + r.between(-3, 3)) : sum(r.chance(30)) + r.one_of({" < ", " <= "}) + number(-30, 90); };
  auto const index = [&] {
    return "(" + r.one_of<std::string>({"min(", "max("}) + sum(false) + ", " + sum(r.chance(30)) + ")) %% 64";
  };
  auto const store = [&](std::string const& indent) {
    std::string text = indent + "B[(i * 20 + j * 4 + k) %% 64] = A[" + index();
    if (r.chance(80)) text += " where " + condition();
    return text + "]\n";
  };
  auto const length = [&](char const* of) {
    std::string const parts[] = {number(1, 6), "min(" + number(1, 6) + ", " + of + " * -" + number(1, 5) + " + " + number(3, 20) + ")", "min(" + number(2, 6) + ", n + " + of + " * -" + number(1, 6) + ")"};
    return r.chance(20) ? "(" + parts[2] + " + 3) // " + number(1, 4) : parts[r.below(3)];
  };
  int shorter = 0;
  for (int n = 0; n < 400; ++n) {
    same = sum(r.chance(30)), limit = r.between(-20, 60);
    std::string body = "  for i in 0.." + number(1, 5) + ":\n    for j in 0.." + length("i") + ":\n      for k in 0.." + length("j") + ":\n        if " + same + r.one_of({" < ", " <= "}) + std::to_string(limit) + ":\n";
    body += store("          ");
    if (r.chance(50)) body += "          if " + condition() + ":\n" + store("            ");
    if (r.chance(80)) body += "        else:\n" + store("          ");
    ir::arena m;
    ir::function f = ir::parse(m,
                               "kernel k:\n  sizes n\n  variables i, j, k\n  buffer A: f32[64] strides [1] in argument 0 alias 0 align 4\n"
                               "  buffer B: f32[64] strides [1] in argument 1 written alias 1 align 4\n" + body);
    std::string const before = ir::print(f);
    ir::function simple = f;
    simple.body = simplify(m, f.body);
    std::string const after = ir::print(simple);
    INFO(before << after);
    shorter += after.size() + 40 < before.size();
    for (std::int64_t const size : {1, 2, 5, 16, 31, 64}) {
      CAPTURE(size);
      sequence<float> a(64), was(64, -1.0f), is(64, -1.0f);
      for (std::size_t i = 0; i < 64; ++i) a[i] = static_cast<float>(i + 1);
      interp_options o;
      std::string const fault = interpret(f, {{a.data(), 64, true}, {was.data(), 64, false}}, {size}, {}, o);
      CHECK(fault == "");
      CHECK(interpret(simple, {{a.data(), 64, true}, {is.data(), 64, false}}, {size}, {}, o) == "");
      CHECK(is == was);
    }
  }
  CHECK(shorter > 50);
}
TEST_CASE("branches behind one another that hang on the same are one") {
  CHECK(simplified("  for i in 0..10:\n    if i * 2 + 5 < 9:\n      B[i] = A[i]\n    else:\n      B[i] = 0.0f32\n"
                   "    if 5 < 9 - i * 2:\n      B[i + 10] = A[i]\n    B[63] = 1.0f32\n    if i < 2:\n      B[62] = 1.0f32\n") ==
        "for i in 0..10:\n  if i * 2 + 5 < 9:\n    B[i] = A[i]\n    B[i + 10] = A[i]\n  else:\n    B[i] = 0.0f32\n"
        "  B[63] = 1.0f32\n  if i < 2:\n    B[62] = 1.0f32\n");
  // Other conditions, and what a step between them may change, are asked for again.
  std::string const two = "for i in 0..10:\n  if i < 4:\n    B[i] = A[i]\n  if i < 5:\n    B[i + 10] = A[i]\n";
  CHECK(simplified("  for i in 0..10:\n    if i < 4:\n      B[i] = A[i]\n    if i < 5:\n      B[i + 10] = A[i]\n") == two);
}
TEST_CASE("a mask goes where it always holds, and stays where only the buffer would allow the access") {
  CHECK(simplified("  for i in 0..7:\n    B[i] = A[i where i < 7]\n") == "for i in 0..7:\n  B[i] = A[i]\n");
  CHECK(simplified("  for i in 0..7:\n    B[i] = A[i where 7 < i]\n") == "for i in 0..7:\n  B[i] = 0.0f32\n");
  CHECK(simplified("  for i in 0..10:\n    B[i] = A[i where i < 7]\n") ==
        "for i in 0..10:\n  B[i] = A[i where i < 7]\n");
}
TEST_CASE("the first iteration of an accumulate is a store when no reduced loop is left") {
  CHECK(simplified("  for k in 0..1:\n    accumulate B[0] = self + A[k] from 0.0f32 first [k]\n") ==
        "B[0] = 0.0f32 + A[0]\n");
  CHECK(simplified(
            "  for i in 0..2:\n    for k in 0..1:\n      accumulate B[0] = self + A[i] from 0.0f32 first [i, k]\n") ==
        "for i in 0..2:\n  accumulate B[0] = self + A[i] from 0.0f32 first [i]\n");
}
TEST_CASE("copies of a nest that share their variables are simplified each by its own range") {
  CHECK(
      simplified("  for i in 0..4:\n    B[i] = A[i where i < 10]\n  for i in 0..12:\n    B[i] = A[i where i < 10]\n") ==
      "block:\n  for i in 0..4:\n    B[i] = A[i]\n  for i in 0..12:\n    B[i] = A[i where i < 10]\n");
}
TEST_CASE("sums that share their parts are taken apart once, with the coefficients of all their ways") {
  world w;
  ir::expr e = w.i;
  for (int n = 0; n < 40; ++n) e = w.op2(op::sub, w.op2(op::add, e, e), w.op2(op::sub, e, index(w.m, 1)));  // e + 1
  CHECK(w.simple(e) == w.simple(w.add(w.i, 40)));
  CHECK(w.ranges.of(e).low == 40);
  CHECK(w.ranges.of(e).high == 49);
  ir::expr f = w.i;
  for (int n = 0; n < 40; ++n) f = w.op2(op::add, w.times(f, 2), w.op2(op::mul, index(w.m, 3), f));
  CHECK(ir::is_literal(w.simple(w.op2(op::sub, f, f)), 0));
}
TEST_CASE("the range of a network of min and max is found in time, and is never too narrow") {
  world w;
  ir::expr low = w.i, high = w.j;
  for (int n = 0; n < 60; ++n) {
    ir::expr const a = w.op2(op::min, low, high), b = w.op2(op::max, low, w.add(high, n % 2));
    low = a, high = b;
  }
  interval const r = w.ranges.of(low);
  CHECK(r.low <= 0);
  CHECK(r.high >= 5);
  CHECK(w.simple(low) != nullptr);
  // What index arithmetic needs is far below the limit.
  ir::expr border = w.i;
  for (int n = 0; n < 10; ++n) border = w.op2(op::min, w.op2(op::max, w.add(border, -3), index(w.m, 0)), index(w.m, 7));
  CHECK(w.ranges.of(border).low == 0);
  CHECK(w.ranges.of(border).high <= 7);
}
