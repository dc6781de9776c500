// Loops that were fused: what their parts become, and what of it is left in addresses.
#include <doctest/doctest.h>

#include "lower/programs.hpp"
#include "support/golden.hpp"
#include "weft/ir/simplify.hpp"
#include "weft/pass/pipeline.hpp"

using namespace weft;
using weft_test::body, weft_test::lowered_program, weft_test::map_program;

namespace {
using loops = weft::sequence<std::int32_t> const&;
/// C(i, j) = A(i, j) + B(j).
program sum_with_row() {
  program p;
  expr::tensor<float, 2> const A{&p, p.add_input(short_name("A"), dtype::f32, 2)};
  expr::tensor<float, 1> const B{&p, p.add_input(short_name("B"), dtype::f32, 1)};
  auto const C = compute<"C">(A.extent(0), A.extent(1), [=](auto i, auto j) { return A(i, j) + B(j); });
  p.outputs.push_back(C.id);
  return canonical(p);
}
std::string simplified(lowered_program& l, ir::function f) {
  f.body = simplify(l.m, f.body);
  return body(f);
}
}  // namespace

TEST_CASE("a fused loop: its parts are a quotient and a remainder") {
  lowered_program l{sum_with_row(), {{6, 20}, {20}}};
  CHECK(simplified(l, l([](schedule& s, loops o) { s.fuse(axis{o[0]}, axis{o[1]}); })) ==
        "for ij in 0..120:\n  C[ij // 20, ij %% 20] = A[ij // 20, ij %% 20] + B[ij %% 20]\n");
}
TEST_CASE("parts of one loop that are fused again are that loop, whether they divide it or not") {
  for (std::int64_t n : {32, 13}) {
    lowered_program l{map_program([](auto x, auto i) { return x(i) + x(i); }), {{n}}};
    std::string const text = simplified(l, l([](schedule& s, loops o) {
      auto const [io, ii] = s.split(axis{o[0]}, 8);
      s.fuse(io, ii);
    }));
    CHECK(text == "for ioii in 0.." + std::to_string(n) + ":\n  B[ioii] = A[ioii] + A[ioii]\n");
  }
}
TEST_CASE("a part that divides the inner extent: no quotient hangs on it") {
  lowered_program l{sum_with_row(), {{6, 24}, {24}}};
  CHECK(simplified(l, l([](schedule& s, loops o) { s.split(s.fuse(axis{o[0]}, axis{o[1]}), 8); })) ==
        "for ijo in 0..18:\n  for iji in 0..8:\n"
        "    C[ijo // 3, iji + ijo %% 3 * 8] = A[ijo // 3, iji + ijo %% 3 * 8] + B[iji + ijo %% 3 * 8]\n");
}
TEST_CASE("lanes of a fused loop: one quotient for all where the lanes divide the inner extent, else one each") {
  auto const text = [](std::int64_t n) {
    lowered_program l{sum_with_row(), {{6, n}, {n}}};
    ir::function f = l([](schedule& s, loops o) { s.vectorize(s.split(s.fuse(axis{o[0]}, axis{o[1]}), 8)[1]); });
    run_passes(f, {32, false});
    return ir::print(f);
  };
  weft_test::check_golden("lower/fused_lanes_divide.ir", text(24));
  weft_test::check_golden("lower/fused_lanes.ir", text(20));
}
TEST_CASE("a fused loop that does not divide ends early; a guard behind a quotient stands in it") {
  lowered_program l{sum_with_row(), {{6, 20}, {20}}};
  weft_test::check_golden("lower/fused_tail.ir", simplified(l, l([](schedule& s, loops o) {
    s.split(s.fuse(axis{o[0]}, axis{o[1]}), 7);
  })));
  // j = (jo of the fused one) * 8 + ji is linear in ji, i = (ii of the fused one) + io * 4 is not in the fused one.
  weft_test::check_golden("lower/fused_guard.ir", simplified(l, l([](schedule& s, loops o) {
    auto const [io, ii] = s.split(axis{o[0]}, 4);
    auto const [jo, ji] = s.split(axis{o[1]}, 8);
    s.reorder(io, ji, ii, jo);
    s.fuse(ii, jo);
  })));
  weft_test::check_golden("lower/fused_guard_reduced.ir", [] {
    lowered_program r{weft_test::matmul(), {{3, 10}, {10, 5}}};
    return simplified(r, r([](schedule& s, loops o) {
      auto const [ko, ki] = s.split(axis{o[2]}, 4);
      auto const [koo, koi] = s.split(ko, 2);
      s.reorder(koo, ki, koi);
      s.fuse(ki, koi);
    }));
  }());
}
TEST_CASE("sizes that stay open: the same, over the sizes") {
  lowered_program l{sum_with_row(), {{6, 20}, {20}}};
  l.dims = {{"n", "m"}, {"m"}};
  weft_test::check_golden("lower/fused_open.ir", simplified(l, l([](schedule& s, loops o) {
    s.vectorize(s.split(s.fuse(axis{o[0]}, axis{o[1]}), 8)[1]);
  })));
}
TEST_CASE("a stage computed inside a fused loop: as much as is read there") {
  program p;
  expr::tensor<float, 2> const A{&p, p.add_input(short_name("A"), dtype::f32, 2)};
  auto const n = A.extent(0), m = A.extent(1);
  auto const T = compute<"T">(n, m, [=](auto i, auto j) { return A(i, j) * A(i, j); });
  auto const U = compute<"U">(n, m, [=](auto i, auto j) { return T(i, j) + T(i, m - 1 - j); });
  p.outputs.push_back(U.id);
  p = canonical(p);
  auto const text = [&](bool open, std::int64_t factor) {
    lowered_program l{p, {{6, 24}}};
    if (open) l.dims = {{"n", "m"}};
    return ir::print(l([&](schedule& s, loops) {
      auto const at = handle_of<2>(s, 1);
      auto const whole = s.fuse(at.all[0], at.all[1]);
      s.compute_at(handle_of<2>(s, 0), factor > 0 ? s.split(whole, factor)[0] : whole);
    }));
  };
  CHECK(text(false, 0).find("buffer T: f32[1, 24]") != std::string::npos);
  CHECK(text(false, 8).find("buffer T: f32[1, 24]") != std::string::npos);
  CHECK(text(false, 7).find("buffer T: f32[2, 24]") != std::string::npos);
  CHECK(text(true, 0).find("buffer T: f32[1, m]") != std::string::npos);
}
TEST_CASE("addresses over memory without gaps are linear in the fused loop") {
  ir::arena m;
  auto const at = [&](ir::expr n) {
    ir::expr const f = ir::binary(m, op::add, ir::binary(m, op::mul, ir::variable(m, 0), ir::index(m, 7)), ir::variable(m, 1));
    ir::expr const i = ir::binary(m, op::floor_div, f, n), j = ir::binary(m, op::floor_mod, f, n);
    return std::pair(f, ir::binary(m, op::add, ir::binary(m, op::mul, i, ir::binary(m, op::mul, ir::index(m, 3), n)),
                                   ir::binary(m, op::mul, j, ir::index(m, 3))));
  };
  ir::expr_node size;
  size.kind = op::extent;
  for (ir::expr n : {ir::index(m, 20), m.make(size)}) {
    auto const [f, address] = at(n);
    CHECK(simplify(m, address) == simplify(m, ir::binary(m, op::mul, f, ir::index(m, 3))));
  }
  // What may be 0 is none that the two may be put together over: x / 0 and x % 0 are 0.
  ir::expr const unknown = ir::variable(m, 5);
  auto const [f, address] = at(unknown);
  CHECK(simplify(m, address) != simplify(m, ir::binary(m, op::mul, f, ir::index(m, 3))));
}
