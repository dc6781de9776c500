// Math functions of f16 and bf16: computed in f32, rounded once more when they are stored.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <type_traits>
#include <vector>

#include "expr/math/bounds.hpp"
#include "expr/math/kernel.hpp"
#include "expr/programs.hpp"
#include "weft/compile.hpp"

namespace {
using namespace weft_test;

/// y(i) = T(o(f32(a(i)))), T a half; of two operands b(i) is the other.
weft::program half_program(weft::op o, weft::dtype half) {
  weft::program p;
  bool const two = weft::arity(o) == 2;
  int const a = p.add_input(weft::short_name("a"), half, 1), b = two ? p.add_input(weft::short_name("b"), half, 1) : -1;
  int const extent = p.extent_of(a, 0), axis = p.axis_node(p.add_axis(extent, 0, false));
  auto const wide = [&](int tensor) {
    return p.operation(weft::op::cast, weft::dtype::f32, p.load(tensor, weft::sequence<int>{axis}));
  };
  int const x = wide(a), y = two ? wide(b) : -1;
  int const result = p.operation(weft::op::cast, half, p.operation(o, weft::dtype::f32, x, y));
  p.outputs.push_back(
      p.add_stage(weft::short_name("y"), {-1, 0, 1, 1, 0}, half, {static_cast<std::int32_t>(extent)}, {result, 0}));
  return weft::canonical(p);
}

/// All 2^16 values of a half through each function, against the f32 function and one conversion.
template <class Half>
void check_all(weft::dtype half, weft::target const& machine) {
  constexpr std::int64_t count = 1 << 16;
  std::vector<Half> a(count), b(count), got(count);
  std::vector<float> wide_a(count), wide_b(count), wide(count);
  for (std::size_t n = 0; n < count; ++n) {
    a[n] = weft::from_bits<Half>(static_cast<std::int16_t>(n));
    b[n] = weft::from_bits<Half>(static_cast<std::int16_t>(n * 40503 + 12345));  // another order of the same
    wide_a[n] = static_cast<float>(a[n]), wide_b[n] = static_cast<float>(b[n]);
  }
  for (math_function const& f : math_functions) {
    math_kernel(half_program(f.o, half), machine, count, 16)(a.data(), b.data(), got.data());
    math_kernel(f.o, weft::dtype::f32, machine, count, 8)(wide_a.data(), wide_b.data(), wide.data());
    int differing = 0;
    for (std::size_t n = 0; n < count; ++n) {
      Half const expected(wide[n]);
      bool const number = wide[n] == wide[n];
      bool const same = number ? got[n].bits == expected.bits : static_cast<float>(got[n]) != static_cast<float>(got[n]);
      if (!same && differing++ == 0)
        FAIL_CHECK(weft::name(f.o) << " of " << weft::name(half) << " at " << wide_a[n] << ", " << wide_b[n]);
    }
    CHECK(differing == 0);
  }
}

}  // namespace

TEST_CASE("a math function of a half is the f32 function, rounded once more: all values") {
  weft::target without = weft::host();
  without.fma = false;
  for (weft::target const& machine : {weft::host(), without}) {
    check_all<weft::f16>(weft::dtype::f16, machine);
    check_all<weft::bf16>(weft::dtype::bf16, machine);
  }
}
TEST_CASE("a math function of a half, as it is written, is an f32") {
  weft::program p;
  auto const A = input<weft::f16, 1>(p, "A");
  auto const B = input<weft::bf16, 1>(p, "B");
  weft::compute<"C">(A.extent(0), [=](auto i) {
    static_assert(std::is_same_v<typename decltype(weft::exp(A(i)))::element_type, float>);
    static_assert(std::is_same_v<typename decltype(weft::pow(A(i), B(i)))::element_type, float>);
    static_assert(std::is_same_v<typename decltype(weft::pow(B(i), 2))::element_type, float>);
    return weft::exp(A(i));
  });
  auto const y = map(weft::sequence<weft::f16>{weft::f16(0.0f), weft::f16(1.0f)},
                     [](auto a) { return weft::cast<weft::f16>(weft::exp(a)); });
  CHECK(y[0].bits == weft::f16(1.0f).bits);
  CHECK(y[1].bits == weft::f16(2.71828183f).bits);
}
