// Compiled with -Ofast -march=native, and with vectors of 512 bits where there are such: as fast as g++ makes these loops. By
// math_gcc256.cpp with vectors of 256, which g++ prefers for some machines; neither is the faster one of all functions.
#include <math.h>

#include <cmath>

#include "math_peers.hpp"

namespace bench {

#ifndef BENCH_GCC
#define BENCH_GCC(name) gcc_##name
#endif
#define BENCH_ONE(name, low, high)                                                                     \
  void BENCH_GCC(name)(math_operands<float> const& o) {                                                \
    float* __restrict const out = o.out;                                                               \
    for (std::int64_t i = 0; i < o.count; ++i) out[i] = o.a * ::name##f(o.x[i]) + o.b;                 \
  }                                                                                                    \
  void BENCH_GCC(name)(math_operands<double> const& o) {                                               \
    double* __restrict const out = o.out;                                                              \
    for (std::int64_t i = 0; i < o.count; ++i) out[i] = o.a * ::name(o.x[i]) + o.b;                    \
  }
#define BENCH_TWO(name, low, high)                                                                     \
  void BENCH_GCC(name)(math_operands<float> const& o) {                                                \
    float* __restrict const out = o.out;                                                               \
    for (std::int64_t i = 0; i < o.count; ++i) out[i] = o.a * ::name##f(o.x[i], o.y[i]) + o.b;         \
  }                                                                                                    \
  void BENCH_GCC(name)(math_operands<double> const& o) {                                               \
    double* __restrict const out = o.out;                                                              \
    for (std::int64_t i = 0; i < o.count; ++i) out[i] = o.a * ::name(o.x[i], o.y[i]) + o.b;            \
  }
BENCH_MATH(BENCH_ONE, BENCH_TWO)

#define BENCH_ALONE(name, value)                                                                       \
  namespace {                                                                                          \
  template <class T>                                                                                   \
  void loop_of_##name(math_operands<T> const& o) {                                                     \
    T* __restrict const out = o.out;                                                                   \
    for (std::int64_t i = 0; i < o.count; ++i) {                                                       \
      T const x = o.x[i], y = o.y[i];                                                                  \
      static_cast<void>(y);                                                                            \
      out[i] = o.a * static_cast<T>(value) + o.b;                                                      \
    }                                                                                                  \
  }                                                                                                    \
  }                                                                                                    \
  void BENCH_GCC(name)(math_operands<float> const& o) { loop_of_##name(o); }                           \
  void BENCH_GCC(name)(math_operands<double> const& o) { loop_of_##name(o); }
BENCH_ALONE(sqrt, std::sqrt(x))
BENCH_ALONE(rsqrt, 1 / std::sqrt(x))
BENCH_ALONE(sigmoid, 1 / (1 + std::exp(-x)))
BENCH_ALONE(gelu, T(0.5) * x * (1 + std::erf(x * T(0.70710678118654752440))))
BENCH_ALONE(floor, std::floor(x))
BENCH_ALONE(ceil, std::ceil(x))
BENCH_ALONE(round, std::nearbyint(x))
BENCH_ALONE(fmod, std::fmod(x, y))

}  // namespace bench
