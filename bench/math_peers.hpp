// The loop out = a f(x) + b (of two operands: f(x, y)) by those who also vectorize f.
#pragma once

#include <cstdint>

#include "harness.hpp"

namespace bench {

/// Functions that are measured, with the interval of the operand; X2: of two operands, the second from -3 to 3.
#define BENCH_MATH(X, X2)                                                                                          \
  X(exp, -10, 10) X(exp2, -10, 10) X(expm1, -10, 10) X(log, 0.01, 100) X(log2, 0.01, 100) X(log1p, -0.9, 100)      \
  X(sin, -10, 10) X(cos, -10, 10) X(tan, -10, 10) X(atan, -10, 10) X(tanh, -5, 5) X(erf, -4, 4) X2(pow, 0.01, 10) \
  X2(atan2, -10, 10)
/// Those of which SLEEF has no form of 1 ulp, or none at all; `gcc_` is written with what C has.
#define BENCH_MATH_ALONE(X, X2)                                                                                    \
  X(sqrt, 0.01, 100) X(rsqrt, 0.01, 100) X(sigmoid, -10, 10) X(gelu, -4, 4) X(floor, -100, 100) X(ceil, -100, 100) \
  X(round, -100, 100) X2(fmod, -100, 100)

template <class T>
struct math_operands {
  T const* x;
  T const* y;
  T a, b;
  T* out;
  std::int64_t count;  // a multiple of 16
};

/// By g++ -Ofast -march=native, which calls libmvec where glibc has a vector form of f, else libm: `gcc_` with the widest
/// vectors, `gcc256_` with vectors of 256 bits. SLEEF u10 with the widest vectors of the machine that this is built for;
/// `available` is false where this was built without it.
#define BENCH_DECLARE(name, low, high)              \
  void gcc_##name(math_operands<float> const&);     \
  void gcc_##name(math_operands<double> const&);    \
  void gcc256_##name(math_operands<float> const&);  \
  void gcc256_##name(math_operands<double> const&); \
  void sleef_##name(math_operands<float> const&);   \
  void sleef_##name(math_operands<double> const&);
BENCH_MATH(BENCH_DECLARE, BENCH_DECLARE)
#undef BENCH_DECLARE
#define BENCH_DECLARE(name, low, high)              \
  void gcc_##name(math_operands<float> const&);     \
  void gcc_##name(math_operands<double> const&);    \
  void gcc256_##name(math_operands<float> const&);  \
  void gcc256_##name(math_operands<double> const&);
BENCH_MATH_ALONE(BENCH_DECLARE, BENCH_DECLARE)
#undef BENCH_DECLARE
extern bool const sleef_available;

#define BENCH_DECLARE(name, low, high) void math_##name(report& r);
BENCH_MATH(BENCH_DECLARE, BENCH_DECLARE)
BENCH_MATH_ALONE(BENCH_DECLARE, BENCH_DECLARE)
#undef BENCH_DECLARE

}  // namespace bench
