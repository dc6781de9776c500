// Compiled with -O3 -march=native, where SLEEF is installed.
#include "math_peers.hpp"

#if BENCH_SLEEF && (defined(__AVX512F__) || (defined(__AVX2__) && defined(__FMA__)))
#include <immintrin.h>
#include <sleef.h>

namespace bench {
bool const sleef_available = true;

#if defined(__AVX512F__)
#define BENCH_F32(name) Sleef_##name##f16_u10avx512f
#define BENCH_F64(name) Sleef_##name##d8_u10avx512f
#define BENCH_INTRINSIC(name) _mm512_##name
constexpr std::int64_t floats = 16;
#else
#define BENCH_F32(name) Sleef_##name##f8_u10avx2
#define BENCH_F64(name) Sleef_##name##d4_u10avx2
#define BENCH_INTRINSIC(name) _mm256_##name
constexpr std::int64_t floats = 8;
#endif

#define BENCH_LOOP(name, T, ps, step, call)                                                     \
  void sleef_##name(math_operands<T> const& o) {                                                \
    auto const a = BENCH_INTRINSIC(set1_##ps)(o.a), b = BENCH_INTRINSIC(set1_##ps)(o.b);        \
    for (std::int64_t i = 0; i < o.count; i += step)                                            \
      BENCH_INTRINSIC(storeu_##ps)(o.out + i, BENCH_INTRINSIC(fmadd_##ps)(a, call, b));         \
  }
#define BENCH_AT(ps, what) BENCH_INTRINSIC(loadu_##ps)(o.what + i)
#define BENCH_ONE(name, low, high)                                            \
  BENCH_LOOP(name, float, ps, floats, BENCH_F32(name)(BENCH_AT(ps, x)))       \
  BENCH_LOOP(name, double, pd, floats / 2, BENCH_F64(name)(BENCH_AT(pd, x)))
#define BENCH_TWO(name, low, high)                                                                \
  BENCH_LOOP(name, float, ps, floats, BENCH_F32(name)(BENCH_AT(ps, x), BENCH_AT(ps, y)))          \
  BENCH_LOOP(name, double, pd, floats / 2, BENCH_F64(name)(BENCH_AT(pd, x), BENCH_AT(pd, y)))
BENCH_MATH(BENCH_ONE, BENCH_TWO)

}  // namespace bench

#else

namespace bench {
bool const sleef_available = false;
#define BENCH_NONE(name, low, high)               \
  void sleef_##name(math_operands<float> const&) {} \
  void sleef_##name(math_operands<double> const&) {}
BENCH_MATH(BENCH_NONE, BENCH_NONE)
}  // namespace bench

#endif
