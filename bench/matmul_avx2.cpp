// The nest of matmul_intrinsics.hpp in AVX2; compiled with -mavx2 -mfma, called where the machine has both.
#include "matmul_intrinsics.hpp"

#if defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>

namespace bench {
namespace {
struct avx2 {
  using reg = __m256;
  static constexpr int lanes = 8, columns = 2;
  static __m256i mask(std::int64_t count) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  }
  static reg load(float const* p) { return _mm256_loadu_ps(p); }
  static reg load(float const* p, __m256i m) { return _mm256_maskload_ps(p, m); }
  static void store(float* p, reg v) { _mm256_storeu_ps(p, v); }
  static void store(float* p, reg v, __m256i m) { _mm256_maskstore_ps(p, m, v); }
  static reg zero() { return _mm256_setzero_ps(); }
  static reg all(float x) { return _mm256_set1_ps(x); }
  static reg fma(reg a, reg b, reg c) { return _mm256_fmadd_ps(a, b, c); }
};
}  // namespace
void matmul_avx2(matmul_problem const& p) { run_nest<avx2>(p); }
}  // namespace bench

#else
namespace bench {
void matmul_avx2(matmul_problem const&) {}
}  // namespace bench
#endif
