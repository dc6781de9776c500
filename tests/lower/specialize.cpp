// Copies of a nest for sizes that meet a condition.
#include <doctest/doctest.h>

#include <array>
#include <vector>

#include "lower/programs.hpp"
#include "support/golden.hpp"
#include "weft/dim.hpp"
#include "weft/direct.hpp"
#include "weft/ir/parse.hpp"
#include "weft/pass/pipeline.hpp"

using namespace weft;
using weft_test::lowered_program;

namespace {
constexpr auto product = [](auto A, auto B) {
  auto M = A.extent(0), K = A.extent(1), N = B.extent(1);
  return compute<"C">(M, N, [=](auto i, auto j) { return sum(K, [=](auto k) { return A(i, k) * B(k, j); }); });
};
template <int Asked>
constexpr auto tiles = [](auto& s, auto, auto, auto C) {
  auto [i, j, k] = C.axes();
  auto [io, jo, ii, ji] = s.tile(i, j, 4, 16);
  s.reorder(io, jo, k, ii, ji);
  s.unroll(ii);
  s.vectorize(ji);
  s.parallel(io);
  if (Asked > 0) s.specialize(s.extent(i) % 4 == 0 && s.extent(j) % 16 == 0);
  if (Asked > 1) s.specialize(s.extent(j) == 5);
};
inline constexpr auto matmul = kernel<"matmul">(product, tiles<2>);
inline constexpr auto unasked = kernel<"matmul">(product, tiles<0>);

/// A vector addition of n elements, with open n, after the passes.
std::string addition(void (*how)(schedule& s, axis i)) {
  program p;
  expr::tensor<float, 1> const A{&p, p.add_input(short_name("A"), dtype::f32, 1)};
  expr::tensor<float, 1> const B{&p, p.add_input(short_name("B"), dtype::f32, 1)};
  auto const C = compute<"C">(A.extent(0) - 2, [=](auto i) { return A(i) + B(i + 2); });
  p.outputs.push_back(C.id);
  lowered_program l{canonical(p), {{20}, {20}}, {}, {{"n"}, {"n"}}};
  ir::function f = l([&](schedule& s, auto const&) { how(s, axis{s.order[0][0]}); });
  run_passes(f, {32, true}, {});
  ir::arena again;
  CHECK(ir::print(ir::parse(again, ir::print(f))) == ir::print(f));
  CHECK(ir::verify(f) == "");
  return ir::print(f);
}
std::vector<float> numbers(int n, int step) {
  std::vector<float> v(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) v[static_cast<std::size_t>(i)] = static_cast<float>(i * step % 13 - 6) / 4;
  return v;
}
}  // namespace

TEST_CASE("specialize: where the factor divides, nothing is left of the tail") {
  weft_test::check_golden("lower/specialized.ir", addition([](schedule& s, axis i) {
                            s.vectorize(i, 8);
                            s.specialize(s.extent(i) % 8 == 0);
                            s.specialize(s.extent(i) == 12);
                          }));
}
TEST_CASE("specialize: any tail is gone from the copy") {
  for (tail t : {tail::guard, tail::mask, tail::partition, tail::shift_inwards}) {
    CAPTURE(static_cast<int>(t));
    std::string const text = [&] {
      static tail at_end;
      at_end = t;
      return addition([](schedule& s, axis i) {
        s.vectorize(i, 8, at_end);
        s.specialize(s.extent(i) % 16 == 0);
      });
    }();
    std::size_t const copy = text.find("  if (n + 14) %% 16 == 0 and 0 < n + -2:\n"), other = text.find("\n  else:\n");
    REQUIRE((copy != std::string::npos && other != std::string::npos));
    std::string const inside = text.substr(copy + 10, other - copy - 10);
    CHECK(inside.find(" where ") == std::string::npos);
    if (t != tail::shift_inwards) CHECK(inside.find("if ", 20) == std::string::npos);  // whether there is room for a shift
    CHECK(inside.find("min(") == std::string::npos);
  }
}
TEST_CASE("specialize: of sizes that are numbers nothing is left, and none of the one that is not met") {
  std::vector<float> const a(12 * 7), b(7 * 32), c(7 * 33);
  CHECK(matmul.ir(view(a, 12, 7), view(b, 7, 32)) == unasked.ir(view(a, 12, 7), view(b, 7, 32)));
  CHECK(matmul.ir(view(a, 12, 7), view(c, 7, 33)) == unasked.ir(view(a, 12, 7), view(c, 7, 33)));
}
TEST_CASE("specialize: one kernel, the copy that a call's sizes ask for, the bits of direct evaluation") {
  std::uint64_t const before = compilations();
  for (auto [m, k, n] : {std::array{8, 3, 32}, {8, 3, 33}, {9, 4, 32}, {4, 1, 16}, {3, 2, 5}, {8, 2, 5}, {12, 9, 48}, {1, 1, 1}}) {
    std::vector<float> const a = numbers(m * k, 5), b = numbers(k * n, 7);
    std::vector<float> c(static_cast<std::size_t>(m * n));
    matmul(view(a, dim<"m">(m), dim<"k">(k)), view(b, dim<"k">(k), dim<"n">(n)), out(c, m, n));
    CHECK(evaluate({.contract = cpu().fma}, matmul, view(a, m, k), view(b, k, n)).values == c);
  }
  CHECK(compilations() - before == 1);
}
TEST_CASE("specialize: of a square, what divides one side divides the other") {
  std::vector<float> const a(16 * 16);
  std::string const text = matmul.ir(view(a, dim<"n">(16), dim<"n">(16)), view(a, dim<"n">(16), dim<"n">(16)));
  std::size_t const copy = text.find("  if n %% 4 == 0 and n %% 16 == 0:\n"), other = text.find("\n  else:\n");
  REQUIRE((copy != std::string::npos && other != std::string::npos));
  INFO(text.substr(copy, other - copy));
  CHECK(text.substr(copy + 10, other - copy - 10).find(" where ") == std::string::npos);
}
