// Compiled with -Ofast -march=native: as fast as g++ makes these loops.
#include <math.h>

#include "math_peers.hpp"

namespace bench {

#define BENCH_ONE(name, low, high)                                                                     \
  void gcc_##name(math_operands<float> const& o) {                                                     \
    float* __restrict const out = o.out;                                                               \
    for (std::int64_t i = 0; i < o.count; ++i) out[i] = o.a * ::name##f(o.x[i]) + o.b;                 \
  }                                                                                                    \
  void gcc_##name(math_operands<double> const& o) {                                                    \
    double* __restrict const out = o.out;                                                              \
    for (std::int64_t i = 0; i < o.count; ++i) out[i] = o.a * ::name(o.x[i]) + o.b;                    \
  }
#define BENCH_TWO(name, low, high)                                                                     \
  void gcc_##name(math_operands<float> const& o) {                                                     \
    float* __restrict const out = o.out;                                                               \
    for (std::int64_t i = 0; i < o.count; ++i) out[i] = o.a * ::name##f(o.x[i], o.y[i]) + o.b;         \
  }                                                                                                    \
  void gcc_##name(math_operands<double> const& o) {                                                    \
    double* __restrict const out = o.out;                                                              \
    for (std::int64_t i = 0; i < o.count; ++i) out[i] = o.a * ::name(o.x[i], o.y[i]) + o.b;            \
  }
BENCH_MATH(BENCH_ONE, BENCH_TWO)

}  // namespace bench
