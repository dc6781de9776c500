#include "weft/ir/print.hpp"

#include <doctest/doctest.h>

#include <clocale>

#include "weft/ir/equal.hpp"
#include "weft/ir/parse.hpp"

using namespace weft;

namespace {
/// A function with sizes, scalars and variables to print expressions of.
struct scene {
  ir::arena m;
  ir::function f;
  ir::buffer* A = nullptr;
  scene() {
    f.nodes = &m;
    f.sizes = {"n"};
    f.scalars = {{"alpha", dtype::f32}};
    f.variables = {"i", "j", "k"};
    A = m.make_buffer();
    A->name = "A";
    A->shape = A->strides = m.make_list(weft::sequence<ir::expr>{ir::index(m, 8), ir::index(m, 8)});
    f.buffers = {A};
  }
  ir::expr raw(op kind, dtype t, ir::expr a, ir::expr b = nullptr, ir::expr c = nullptr) {
    ir::expr_node n;
    n.kind = kind;
    n.type = t;
    n.lanes = a->lanes;
    n.a = a;
    n.b = b;
    n.c = c;
    return m.make(n);
  }
  std::string text(ir::expr e) { return ir::print(e, f); }
};
std::string literal(dtype t, std::int64_t bits, int lanes = 1) {
  scene s;
  return s.text(ir::literal(s.m, t, bits, lanes));
}
}  // namespace

TEST_CASE("print: parentheses stand where the tree needs them, and nowhere else") {
  scene s;
  ir::expr const i = ir::variable(s.m, 0), j = ir::variable(s.m, 1), k = ir::variable(s.m, 2);
  auto const two = [&](op o, ir::expr a, ir::expr b) { return s.raw(o, dtype::i64, a, b); };
  auto const lt = [&](ir::expr a, ir::expr b) { return s.raw(op::lt, dtype::boolean, a, b); };
  CHECK(s.text(two(op::add, two(op::add, i, j), k)) == "i + j + k");
  CHECK(s.text(two(op::add, i, two(op::add, j, k))) == "i + (j + k)");
  CHECK(s.text(two(op::sub, i, two(op::sub, j, k))) == "i - (j - k)");
  CHECK(s.text(two(op::mul, two(op::add, i, j), k)) == "(i + j) * k");
  CHECK(s.text(two(op::add, i, two(op::mul, j, k))) == "i + j * k");
  CHECK(s.text(two(op::mul, i, two(op::floor_div, j, k))) == "i * (j // k)");
  CHECK(s.text(two(op::shl, two(op::add, i, j), k)) == "i + j << k");
  CHECK(s.text(two(op::bit_or, two(op::bit_and, i, j), k)) == "i & j | k");
  CHECK(s.text(two(op::bit_and, two(op::bit_or, i, j), k)) == "(i | j) & k");
  CHECK(s.text(lt(two(op::add, i, j), k)) == "i + j < k");
  ir::expr const less = lt(i, j);
  CHECK(s.text(s.raw(op::logical_not, dtype::boolean, less)) == "not i < j");
  CHECK(s.text(s.raw(op::eq, dtype::boolean, less, less)) == "(i < j) == (i < j)");
  ir::expr const both = s.raw(op::logical_and, dtype::boolean, less, lt(j, k));
  CHECK(s.text(s.raw(op::logical_or, dtype::boolean, both, less)) == "i < j and j < k or i < j");
  CHECK(s.text(s.raw(op::logical_not, dtype::boolean, both)) == "not (i < j and j < k)");
}

TEST_CASE("print: the two divisions, and a literal's sign and a negation, differ") {
  scene s;
  ir::expr const i = ir::variable(s.m, 0), five = ir::index(s.m, 5), minus = ir::index(s.m, -5);
  auto const two = [&](op o) { return s.text(s.raw(o, dtype::i64, i, five)); };
  CHECK(two(op::div) == "i / 5");
  CHECK(two(op::rem) == "i % 5");
  CHECK(two(op::floor_div) == "i // 5");
  CHECK(two(op::floor_mod) == "i %% 5");
  CHECK(s.text(s.raw(op::neg, dtype::i64, five)) == "-(5)");
  CHECK(s.text(s.raw(op::neg, dtype::i64, i)) == "-i");
  CHECK(s.text(s.raw(op::sub, dtype::i64, i, minus)) == "i - -5");
}

TEST_CASE("print: a literal says its type unless it is an index") {
  CHECK(literal(dtype::i64, -7) == "-7");
  CHECK(literal(dtype::i64, 7, 16) == "7i64x16");
  CHECK(literal(dtype::i32, -7) == "-7i32");
  CHECK(literal(dtype::u8, 255, 4) == "255u8x4");
  CHECK(literal(dtype::boolean, 1) == "true");
  CHECK(literal(dtype::boolean, 0, 8) == "falsex8");
  CHECK(literal(dtype::u64, -1) == "18446744073709551615u64");
  CHECK(literal(dtype::u32, 0xffffffff, 2) == "4294967295u32x2");
  CHECK(literal(dtype::i8, -128) == "-128i8");
  CHECK(literal(dtype::f32, to_bits(1.5f)) == "1.5f32");
  CHECK(literal(dtype::f16, to_bits(f16(0.1f))) == "0.1f16");
  CHECK(literal(dtype::f16, 1) == "5.96e-08f16");
  CHECK(literal(dtype::bf16, to_bits(bf16(-2.0f)), 8) == "-2.0bf16x8");
  CHECK(literal(dtype::f16, 0xfc00) == "-inf<f16>");
  CHECK(literal(dtype::bf16, 0x7fc0) == "nan<bf16>");
  CHECK(literal(dtype::bf16, 0xffc0) == "bits<bf16>(0xffc0)");
  CHECK(literal(dtype::f32, to_bits(0.1f)) == "0.1f32");
  CHECK(literal(dtype::f64, to_bits(0.1)) == "0.1f64");
  CHECK(literal(dtype::f32, to_bits(-0.0f)) == "-0.0f32");
  CHECK(literal(dtype::f32, to_bits(100.0f)) == "100.0f32");
  CHECK(literal(dtype::f32, to_bits(16777216.0f)) == "16777216.0f32");
  CHECK(literal(dtype::f32, to_bits(1e10f)) == "1e+10f32");
  CHECK(literal(dtype::f32, to_bits(2.0f), 16) == "2.0f32x16");
  CHECK(literal(dtype::f32, 0x7f800000) == "inf<f32>");
  CHECK(literal(dtype::f64, to_bits(-__builtin_inf())) == "-inf<f64>");
  CHECK(literal(dtype::f32, 0x7fc00000) == "nan<f32>");
  CHECK(literal(dtype::f32, 0x7fc00001) == "bits<f32>(0x7fc00001)");
  CHECK(literal(dtype::f32, 0xffc00000, 4) == "bits<f32x4>(0xffc00000)");
  // Not what to_bits gives; the text keeps even that.
  CHECK(literal(dtype::u8, 300) == "bits<u8>(0x12c)");
}

TEST_CASE("print: the decimal point is a point in every locale") {
  std::string const before = std::setlocale(LC_NUMERIC, nullptr);
  char const* found = nullptr;
  for (char const* name : {"de_DE.UTF-8", "fr_FR.UTF-8", "ps_AF.UTF-8"})
    if (found == nullptr) found = std::setlocale(LC_NUMERIC, name);
  if (found == nullptr) MESSAGE("[skip] no locale with another decimal point here");
  CHECK(literal(dtype::f64, to_bits(-1.5)) == "-1.5f64");
  std::setlocale(LC_NUMERIC, before.c_str());
}

TEST_CASE("print: masks, vectors and calls") {
  scene s;
  ir::expr const i = ir::variable(s.m, 0), r = ir::ramp(s.m, i, 2, 16);
  ir::expr const wide = ir::broadcast(s.m, ir::variable(s.m, 1), 16);
  CHECK(s.text(ir::load(s.m, s.A, {i, r})) == "A[i, ramp(i, 2, 16)]");
  ir::expr const inside = ir::binary(s.m, op::lt, r, wide);
  CHECK(s.text(ir::load(s.m, s.A, {i, r}, inside)) == "A[i, ramp(i, 2, 16) where ramp(i, 2, 16) < broadcast(j, 16)]");
  CHECK(s.text(ir::cast(s.m, op::cast, dtype::f32, i)) == "cast<f32>(i)");
  CHECK(s.text(s.raw(op::bitcast, dtype::f64, i)) == "bitcast<f64>(i)");
  CHECK(s.text(ir::binary(s.m, op::min, i, ir::variable(s.m, 1))) == "min(i, j)");
}

TEST_CASE("print: a name that is a word of the language stands in backquotes") {
  scene s;
  for (char const* name : {"for", "self", "true", "truex16", "min", "two words", "", "7"}) {
    s.f.variables[0] = name;
    CHECK(s.text(ir::variable(s.m, 0)) == "`" + std::string(name) + "`");
  }
  s.f.variables[0] = "truex";
  CHECK(s.text(ir::variable(s.m, 0)) == "truex");
  s.f.variables[0] = "a`b\\c\n";
  CHECK(s.text(ir::variable(s.m, 0)) == "`a\\`b\\\\c\\x0a`");
}

TEST_CASE("print: a whole function") {
  char const* const text =
      "kernel matmul:\n"
      "  sizes m, n\n"
      "  scalars alpha: f32\n"
      "  variables io, ii, k\n"
      "  buffer A: f32[m, 512] strides [512, 1] in argument 0 alias 0 align 64\n"
      "  buffer C: f32[m, n] strides [n, 1] in argument 1 written alias 1 align 4\n"
      "  buffer acc0: f32x16[] strides [] in registers written alias 1000002 align 64\n"
      "  buffer acc1: f32x16[] strides [] in registers written alias 1000003 align 64\n"
      "  for io in 0..(m + 5) // 6 parallel:\n"
      "    for k in 3..8:\n"
      "      for ii in io..io + min(6, m - io) unrolled:\n"
      "        accumulate C[io, 0] = fma(A[io, k where io < m], alpha, self) from 0.0f32 first [k] where io < m\n"
      "    if io < 4:\n"
      "      pass\n"
      "    else:\n"
      "      allocate acc0, acc1:\n"
      "        acc0[] = 0.0f32x16\n"
      "        C[io, ramp(0, 1, 16)] = acc0[]\n";
  ir::arena m;
  CHECK(ir::print(ir::parse(m, text)) == text);
}

TEST_CASE("print: an expression that shares its parts stays small") {
  scene s;
  ir::expr e = ir::variable(s.m, 0);
  for (int n = 0; n < 60; ++n) e = ir::binary(s.m, op::mul, e, e);  // 2^60 leaves as a tree
  std::string const text = s.text(e);
  CHECK(text.size() < 4000);
  CHECK(text.substr(0, 9) == "let $0 = ");
}

TEST_CASE("print: what is broken is printed too") {
  scene s;
  CHECK(s.text(nullptr) == "?");
  CHECK(s.text(ir::variable(s.m, 77)) == "?77");
  ir::stmt_node loop;
  loop.kind = ir::stmt_kind::loop;
  CHECK(ir::print(s.m.make(loop), s.f) == "for ?-1 in ?..? + ?:\n  ?\n");
  CHECK(ir::print(ir::stmt(nullptr), s.f) == "?\n");
}
TEST_CASE("print: with lines, each statement stands on the line that is told, behind its lets") {
  ir::arena m;
  std::string const text =
      "kernel k:\n  variables i, j\n  buffer A: f32[8, 8] strides [8, 1] in argument 0 written alias 0 align 4\n"
      "  for i in 0..8:\n    if i < 4:\n      A[i, 0] = 1.0f32\n    else:\n"
      "      let $0 = sqrt(A[i, 1] * A[i, 2] + A[i, 3] * A[i, 4])\n"
      "      A[i, 0] = $0 * $0\n    for j in 0..2:\n      A[i, j] = 0.0f32\n";
  ir::function const f = ir::parse(m, text);
  sequence<ir::stmt_line> lines;
  REQUIRE(ir::print(f, lines) == text);
  std::string told;
  for (auto const& [s, line] : lines)
    told += std::to_string(line) + (s->kind == ir::stmt_kind::loop ? " loop " : s->kind == ir::stmt_kind::branch ? " if " : " store ");
  CHECK(told == "4 loop 5 if 6 store 9 store 10 loop 11 store ");
}
