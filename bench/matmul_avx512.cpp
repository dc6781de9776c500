// The nest of matmul_intrinsics.hpp in AVX-512; compiled with -mavx512f, called where the machine has it.
#include "matmul_intrinsics.hpp"

#ifdef __AVX512F__
#include <immintrin.h>

namespace bench {
namespace {
struct avx512 {
  using reg = __m512;
  static constexpr int lanes = 16, columns = 4;
  static __mmask16 mask(std::int64_t count) { return static_cast<__mmask16>((1u << count) - 1u); }
  static reg load(float const* p) { return _mm512_loadu_ps(p); }
  static reg load(float const* p, __mmask16 m) { return _mm512_maskz_loadu_ps(m, p); }
  static void store(float* p, reg v) { _mm512_storeu_ps(p, v); }
  static void store(float* p, reg v, __mmask16 m) { _mm512_mask_storeu_ps(p, m, v); }
  static reg zero() { return _mm512_setzero_ps(); }
  static reg all(float x) { return _mm512_set1_ps(x); }
  static reg fma(reg a, reg b, reg c) { return _mm512_fmadd_ps(a, b, c); }
};
}  // namespace
void matmul_avx512(matmul_problem const& p) { run_nest<avx512>(p); }
}  // namespace bench

#else
namespace bench {
void matmul_avx512(matmul_problem const&) {}
}  // namespace bench
#endif
