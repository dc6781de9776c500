// Scans: their loop programs, before the passes and after them, and their texts.
#include <doctest/doctest.h>

#include "fuzz/found.hpp"
#include "lower/programs.hpp"
#include "support/golden.hpp"
#include "weft/compile.hpp"
#include "weft/expr/formula.hpp"
#include "weft/expr/print.hpp"
#include "weft/ir/parse.hpp"
#include "weft/pass/pipeline.hpp"

using namespace weft;
using weft_test::lowered_program;
using weft_test::fuzz::found;

namespace {
enum class along { rows, columns };
template <class Over>
program sums(along which, Over const& over) {
  program p;
  expr::tensor<float, 2> const A{&p, p.add_input(short_name("A"), dtype::f32, 2)};
  auto const C = compute<"C">(A.extent(0), A.extent(1), [=](auto i, auto j) {
    if (which == along::rows) return sum(over(j), [=](auto k) { return A(i, k); });
    return sum(over(i), [=](auto k) { return A(k, j); });
  });
  p.outputs.push_back(C.id);
  return canonical(p);
}
program row_sums() {
  return sums(along::rows, [](auto t) { return up_to(t); });
}
program column_sums() {
  return sums(along::columns, [](auto t) { return up_to(t); });
}
/// The loop program as it is lowered and as code is made of it.
std::string both(lowered_program& l, void (*how)(schedule&)) {
  ir::function f = l([&](schedule& s, auto const&) { how(s); });
  std::string text = ir::print(f);
  ir::arena again;
  CHECK(ir::print(ir::parse(again, text)) == text);
  run_passes(f, {32, true}, {});
  CHECK(ir::verify(f) == "");
  return text + ir::print(f);
}
}  // namespace

TEST_CASE("scan: innermost, its value stays in a register; an outer part begins with what stands before it") {
  lowered_program l{row_sums(), {{3, 37}}};
  weft_test::check_golden("lower/scan_register.ir", both(l, [](schedule& s) {
                            auto const [i, t] = handle_of<2, 2>(s, 0).axes();
                            auto const [to, ti] = s.split(t, 16, tail::partition);
                            s.reorder(to, i, ti);
                            s.unroll(ti, 4);
                          }));
}
TEST_CASE("scan: a row at a time, by vectors") {
  lowered_program l{column_sums(), {{9, 20}}};
  weft_test::check_golden("lower/scan_rows.ir", both(l, [](schedule& s) { s.vectorize(axis{1}); }));
}
TEST_CASE("scan: from the end, without the element itself, for all sizes") {
  lowered_program l{sums(along::rows, [](auto t) { return after(t); }), {{3, 37}}};
  l.dims = {{"m", "n"}};
  weft_test::check_golden("lower/scan_backwards.ir", both(l, [](schedule&) {}));
}
TEST_CASE("scan: rows side by side have a register each") {
  lowered_program l{row_sums(), {{8, 37}}};
  weft_test::check_golden("lower/scan_jammed.ir", both(l, [](schedule& s) { s.unroll(axis{0}, 4); }));
}
TEST_CASE("scan: a program is read back as it was printed, and says what it computes") {
  program const p = sums(along::columns, [](auto t) { return from(t); });
  std::string const text = print(p);
  CHECK(text.find("axis 0 < %0 scanned backwards\n") != std::string::npos);
  CHECK(print(parse_program(text)) == text);
  CHECK(digest(parse_program(text)) == digest(p));
  CHECK(digest(p) != digest(column_sums()));
  CHECK(formula(p, 0) == "C[i, j] = C[i + 1, j] + A[i, j] from 0");
}
TEST_CASE("scan: unrolled in two parts, one around the other, with another axis between them") {
  found f;
  auto const a = f.input<float, 2>({5, 29});
  auto const s = compute<"S">(a.extent(0), a.extent(1), [=](auto i, auto t) {
    return scan(up_to(t), 1.f, [=](auto h) { return h * 0.5f + a(i, t); });
  });
  f.check(s, "S: split(j, 6) -> jo, ji\nS: split(jo, 3) -> joo, joi\nS: reorder(joo, joi, i, ji)\nS: unroll(joi)\nS: unroll(i)\n");
}
TEST_CASE("scan: what is before a loop that runs no time is not read") {
  found f;
  auto const a = f.input<std::int32_t, 1>({31});
  auto const s = compute<"S">(a.extent(0), [=](auto t) { return weft::prod(up_to(t), [=](auto k) { return a(k); }); });
  auto const t = compute<"T">(a.extent(0), [=](auto i) { return s(i); });
  f.check(t, "S: split(i, 4) -> io, ii\nS: compute_at(T, i)\nS: split(ii, 2) -> iio, iii\n");
}
TEST_CASE("a tile that went into registers was still asked for ahead of its loop") {
  found f;
  auto const a = f.input<float, 1>({7});
  auto const s = compute<"S">(1, [=](auto) { return a(0); });
  auto const t = compute<"T">(a.extent(0), [=](auto i) { return s(0) + a(i); });
  f.check(t, "S: set_scope(stack)\nT: prefetch(i, S, 2)\n");
}
