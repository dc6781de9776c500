#include "weft/expr/expand.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "programs.hpp"
#include "weft/expr/verify.hpp"

using namespace weft_test;
using weft::op;
using weft::program;

namespace {
/// |got - exact| in units of the last place of T at `exact`.
template <class T>
long double ulps(T got, long double exact) {
  int exponent = 0;
  std::frexp(exact, &exponent);
  int const lowest = std::numeric_limits<T>::min_exponent;
  int const unit = (exponent > lowest ? exponent : lowest) - std::numeric_limits<T>::digits;
  return std::fabs(std::ldexp(static_cast<long double>(got) - exact, -unit));
}
/// The worst error of exp over `x`; results that overflow or are not numbers are checked for being the same.
template <class T>
long double worst_error(weft::sequence<T> const& x, bool contract) {
  weft::sequence<T> const got = map(
      x, [](auto a) { return weft::exp(a); }, contract);
  long double worst = 0;
  for (std::size_t n = 0; n < x.size(); ++n) {
    long double const exact = std::exp(static_cast<long double>(x[n]));
    // Beyond the largest number by less than half a unit, either answer is within 1 ulp.
    if (std::isinf(got[n])) {
      CHECK(ulps(std::numeric_limits<T>::max(), exact) > 0);
      CHECK(exact > static_cast<long double>(std::numeric_limits<T>::max()) * (1 - 1e-7L));
      continue;
    }
    long double const error = ulps(got[n], exact);
    if (error > worst) worst = error;
  }
  return worst;
}
template <class T>
weft::sequence<T> grid(T from, T to, int count) {
  weft::sequence<T> x;
  for (int n = 0; n <= count; ++n) x.push_back(from + (to - from) * static_cast<T>(n) / static_cast<T>(count));
  return x;
}
int count(program const& p, op kind) {
  int n = 0;
  for (weft::node const& one : p.nodes) n += one.kind == kind;
  return n;
}
template <class F>
program one_stage(F f) {
  program p;
  auto const A = input<float, 1>(p, "A"), B = input<float, 1>(p, "B");
  p.outputs.push_back(weft::compute<"C">(A.extent(0), [=](auto i) { return f(A(i), B(i)); }).id);
  return weft::canonical(p);
}
}  // namespace

TEST_CASE("exp is within 1 ulp, from results that vanish to results that overflow, contracted or not") {
  for (bool contract : {false, true}) {
    CAPTURE(contract);
    CHECK(worst_error(grid(-104.5f, 89.5f, 4001), contract) < 1.0L);
    CHECK(worst_error(grid(-1.0f, 1.0f, 2001), contract) < 1.0L);
    CHECK(worst_error(grid(-104.0f, -87.0f, 2001), contract) < 1.0L);  // denormal results
    CHECK(worst_error(grid(-1e-6f, 1e-6f, 101), contract) < 1.0L);
    CHECK(worst_error(grid(-746.0, 710.0, 4001), contract) < 1.0L);
    CHECK(worst_error(grid(-1.0, 1.0, 2001), contract) < 1.0L);
    CHECK(worst_error(grid(-745.5, -708.0, 2001), contract) < 1.0L);
  }
}

TEST_CASE("exp at the edges") {
  float const inf = std::numeric_limits<float>::infinity();
  float const largest = 88.72283f;  // e to this is the largest finite float, nearly
  auto const y = map(weft::sequence<float>{0, -0.0f, inf, -inf, 1e30f, -1e30f, largest, 88.73f, -103.9f, -104.0f},
                     [](auto a) { return weft::exp(a); });
  CHECK(y[0] == 1);
  CHECK(y[1] == 1);
  CHECK(y[2] == inf);
  CHECK(y[3] == 0);
  CHECK(y[4] == inf);
  CHECK(y[5] == 0);
  CHECK(std::isfinite(y[6]));
  CHECK(y[6] > 3.4e38f);
  CHECK(y[7] == inf);
  CHECK(y[8] == std::numeric_limits<float>::denorm_min());
  CHECK(y[9] == 0);
  CHECK(std::isnan(map(weft::sequence<float>{std::nanf("")}, [](auto a) { return weft::exp(a); })[0]));
  double const big = std::numeric_limits<double>::infinity();
  auto const z = map(weft::sequence<double>{0, big, -big, 709.78, 710, -745.1, -745.2, std::nan("")},
                     [](auto a) { return weft::exp(a); });
  CHECK(z[0] == 1);
  CHECK(z[1] == big);
  CHECK(z[2] == 0);
  CHECK(std::isfinite(z[3]));
  CHECK(z[4] == big);
  CHECK(z[5] == std::numeric_limits<double>::denorm_min());
  CHECK(z[6] == 0);
  CHECK(std::isnan(z[7]));
}

TEST_CASE("exp falls by at most one unit in the last place between neighbouring floats") {
  for (float start : {-87.4f, -1.0f, -0.35f, 0.0f, 0.34f, 0.69f, 1.0f, 20.0f}) {
    weft::sequence<float> x{start};
    for (int n = 0; n < 200; ++n) x.push_back(std::nextafter(x.back(), 100.0f));
    auto const y = map(x, [](auto a) { return weft::exp(a); });
    for (std::size_t n = 1; n < y.size(); ++n) CHECK(y[n - 1] <= std::nextafter(y[n], 1e30f));
  }
}

TEST_CASE("expand leaves no exp, keeps the program well-formed and the stages' numbers") {
  program const p = one_stage([](auto a, auto b) { return weft::exp(a) * b + weft::exp(b); });
  for (bool contract : {false, true}) {
    program const q = weft::expand(p, contract);
    CHECK(count(p, op::exp) == 2);
    CHECK(count(q, op::exp) == 0);
    CHECK(weft::fault_of(q) == "");
    CHECK((count(q, op::fma) > 0) == contract);
    CHECK(q.stages.size() == p.stages.size());
    CHECK(weft::digest(weft::canonical(weft::expand(weft::canonical(q), contract))) ==
          weft::digest(weft::canonical(q)));
  }
}

TEST_CASE("1 + tanh(x) is one function, within 2.5 ulp where the sum would have nothing left") {
  for (bool const contract : {true, false}) {
    CAPTURE(contract);
    auto const worst = [&](auto const& x, auto f, int sign) {
      auto const y = map(x, f, contract);
      long double most = 0;
      for (std::size_t n = 0; n < x.size(); ++n) {
        long double const e = ulps(y[n], 2 / (1 + std::exp(-2 * sign * static_cast<long double>(x[n]))));
        if (e > most) most = e;
      }
      return most;
    };
    auto const sum = [](auto a) { return 1 + weft::tanh(a); };
    CHECK(worst(grid(-44.0f, 0.0f, 8001), sum, 1) < 2.5L);
    CHECK(worst(grid(0.0f, 50.0f, 8001), sum, 1) < 1.5L);
    CHECK(worst(grid(-1.0f, 1.0f, 4001), [](auto a) { return weft::tanh(a) + 1; }, 1) < 2.5L);
    CHECK(worst(grid(-10.0f, 44.0f, 4001), [](auto a) { return 1 - weft::tanh(a); }, -1) < 2.5L);
    CHECK(worst(grid(-354.0, 20.0, 8001), sum, 1) < 2.5L);
  }
}
TEST_CASE("1 + tanh(x) at the edges, and what is no such sum") {
  float const inf = std::numeric_limits<float>::infinity();
  auto const y = map(weft::sequence<float>{0, inf, -inf, 1e30f, -1e30f, -44.1f, -43.9f, std::nanf("")},
                     [](auto a) { return 1 + weft::tanh(a); }, true);
  CHECK(y[0] == 1);
  CHECK(y[1] == 2);
  CHECK(y[2] == 0);
  CHECK(y[3] == 2);
  CHECK(y[4] == 0);
  CHECK(y[5] >= 0);
  CHECK(y[5] < 0x1p-126f);
  CHECK(y[6] > 0);
  CHECK(std::isnan(y[7]));
  program const one = one_stage([](auto a, auto) { return 1 + weft::tanh(a); });
  program const other = one_stage([](auto a, auto) { return 2 + weft::tanh(a); });
  program const less = one_stage([](auto a, auto) { return weft::tanh(a) - 1; });
  CHECK(weft::canonical(weft::expand(one, true)).nodes.size() < weft::canonical(weft::expand(other, true)).nodes.size());
  CHECK(weft::canonical(weft::expand(one, true)).nodes.size() < weft::canonical(weft::expand(less, true)).nodes.size());
}

namespace {
/// gelu by tanh, in the forms that people write.
inline constexpr auto gelu_as_written = [](auto v) {
  return 0.5f * v * (1 + weft::tanh(0.79788456f * (v + 0.044715f * v * v * v)));
};
inline constexpr auto gelu_by_horner = [](auto v) {
  return v * (0.5f * (weft::tanh(v * 0.79788456f * (0.044715f * (v * v) + 1.0f)) + 1));
};
inline constexpr auto gelu_turned = [](auto v) {
  return (1 - weft::tanh(-(0.79788456f * v + 0.035677407f * v * v * v))) * (v * 0.5f);
};
inline constexpr auto gelu_by_sigmoid = [](auto v) { return weft::gelu_tanh(v); };
/// How often what only x / (1 + 2^y) has is in what a function becomes.
template <class F>
int gates(F f) {
  return count(weft::canonical(weft::expand(one_stage([=](auto a, auto b) { return f(a, b); }), true)), op::round);
}
}  // namespace

TEST_CASE("gelu by tanh is one function, as near to the truth as its argument lets it be") {
  // `linear` and `cubic`: of what tanh is of.
  auto const check = [](auto f, long double linear, long double cubic) {
    for (auto const& [from, to] : {std::pair{-9.9f, -4.0f}, {-4.0f, -1.0f}, {-1.0f, 1.0f}, {1.0f, 12.0f}, {-0x1p-100f, 0x1p-100f}}) {
      auto const x = grid(from, to, 1500);
      auto const y = map(x, f, true);
      long double above = -1;
      for (std::size_t n = 0; n < x.size(); ++n) {
        long double const v = x[n], argument = 2 * (linear * v + cubic * v * v * v) * 1.442695040888963407L;
        // Two coefficients, a square and an fma are rounded, so the slope of y is 3 * 2^-24 from the truth at most, which times log 2
        // is 2.1 y units of the result. Of positive x 2^y is small beside 1.
        long double const bound = 3.3L + 2.1L * (argument < 0 ? -argument : 0);
        long double const over = ulps(y[n], v / (1 + std::exp2(-argument))) - bound;
        if (over > above) above = over;
      }
      CAPTURE(from);
      CHECK(above < 0);
    }
  };
  long double const scale = 0.79788456f;
  check(gelu_as_written, scale, scale * 0.044715f);
  check(gelu_by_horner, scale, scale * 0.044715f);
  check(gelu_turned, scale, 0.035677407f);
  check(gelu_by_sigmoid, 1.5957691216057308f / 2.0L, 0.07135481627260025f / 2.0L);
  CHECK(gates([](auto a, auto) { return gelu_as_written(a); }) == 1);
  CHECK(gates([](auto a, auto) { return gelu_by_horner(a); }) == 1);
  CHECK(gates([](auto a, auto) { return gelu_turned(a); }) == 1);
  CHECK(gates([](auto a, auto) { return gelu_by_sigmoid(a); }) == 1);
  CHECK(gates([](auto a, auto b) { return gelu_as_written(a + b) * gelu_as_written(b); }) == 2);
}
TEST_CASE("gelu by tanh at the edges, and what is no such product") {
  float const inf = std::numeric_limits<float>::infinity(), largest = std::numeric_limits<float>::max();
  auto const y = map(weft::sequence<float>{0, -0.0f, inf, -inf, std::nanf(""), 1e20f, -1e20f, largest, -largest, -10.3f, 1e-40f, 40},
                     gelu_as_written, true);
  CHECK((y[0] == 0 && !std::signbit(y[0])));
  CHECK((y[1] == 0 && std::signbit(y[1])));
  CHECK(y[2] == inf);
  CHECK(std::isnan(y[3]));  // -inf * 0, as it is written
  CHECK(std::isnan(y[4]));
  CHECK(y[5] == 1e20f);
  CHECK(y[6] == 0);
  CHECK(y[7] == largest);
  CHECK(y[8] == 0);
  CHECK(y[9] == 0);
  CHECK(y[10] > 0);
  CHECK(y[11] == 40);
  // Twice as much as there is in front: 0 all the same.
  auto const doubled = map(weft::sequence<float>{-largest, -2e38f, -1e33f, largest}, [](auto v) { return v * (1 + weft::tanh(v * v * v)); }, true);
  for (int n = 0; n < 3; ++n) CHECK((doubled[static_cast<std::size_t>(n)] == 0 && std::signbit(doubled[static_cast<std::size_t>(n)])));
  CHECK(doubled[3] == inf);
  CHECK(gates([](auto a, auto) { return a * (1 + weft::tanh(1e-30f * (1e-30f * a * a * a))); }) == 0);  // numbers that f32 does not have
  CHECK(gates([](auto a, auto b) { return a * (1 + weft::tanh(b + b * b * b)); }) == 0);     // of another number
  CHECK(gates([](auto a, auto) { return a * (1 + weft::tanh(a + a * a)); }) == 0);           // even
  CHECK(gates([](auto a, auto) { return a * (1 + weft::tanh(a - 0.1f * a * a * a)); }) == 0);  // not monotonous
  CHECK(gates([](auto a, auto) { return a * (1 + weft::tanh(a * a * a * a * a)); }) == 0);
  CHECK(gates([](auto a, auto) { return a * weft::sigmoid(a); }) == 0);  // its argument is exact
  CHECK(gates([](auto a, auto) { return a * (2 + weft::tanh(a * a * a)); }) == 0);
  CHECK(gates([](auto a, auto) { return a * (1 + weft::tanh(a * a * a)); }) == 1);
}

TEST_CASE("contraction makes one rounding of a product and a sum, with the signs right") {
  struct {
    float a, b;
  } const samples[] = {{1.0f + 0x1p-12f, 3.0f}, {-0.1f, 0.3f}, {1e20f, -1e-20f}};
  auto const check = [&](auto f, auto contracted) {
    for (auto const& s : samples) {
      program const p = one_stage(f);
      auto const value = [&](bool contract) {
        return elements<float>(run(p, {dense<float>({1}, {s.a}), dense<float>({1}, {s.b})}, {}, contract))[0];
      };
      CHECK(value(true) == contracted(s.a, s.b));
    }
  };
  check([](auto a, auto b) { return a * a + b; }, [](float a, float b) { return std::fma(a, a, b); });
  check([](auto a, auto b) { return b + a * a; }, [](float a, float b) { return std::fma(a, a, b); });
  check([](auto a, auto b) { return b - a * a; }, [](float a, float b) { return std::fma(-a, a, b); });
  check([](auto a, auto b) { return a * a - b; }, [](float a, float b) { return std::fma(a, a, -b); });
}

TEST_CASE("contraction changes a result that has two roundings without it, and leaves integers alone") {
  float const a = 1.0f + 0x1p-12f;
  auto const square = [](auto x) { return x * x - 1.0f; };
  float const once = map(weft::sequence<float>{a}, square, true)[0], twice = map(weft::sequence<float>{a}, square, false)[0];
  CHECK(once == 0x1p-11f + 0x1p-24f);
  CHECK(twice == 0x1p-11f);
  program p;
  auto const A = input<std::int32_t, 1>(p, "A");
  weft::compute<"C">(A.extent(0), [=](auto i) { return A(i) * A(i) + 1; });
  CHECK(count(weft::expand(p, true), op::fma) == 0);
}
