// What CUDA C++ means on the host: just enough to run weft's generated kernels, one thread after another.
//
// It stands in front of a kernel's text (-include) and stays free of the library. The kernels have no barriers
// yet, so a thread runs from begin to end; `order` runs them forwards, backwards, or in a permuted order, for a
// kernel whose result hangs on the order is wrong.
#pragma once

#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)

struct shim_dim3 {
  unsigned x = 1, y = 1, z = 1;
};
static shim_dim3 threadIdx, blockIdx, blockDim, gridDim;

// Rounded to nearest, never contracted: the file is compiled with -ffp-contract=off.
static inline float __fadd_rn(float a, float b) { return a + b; }
static inline float __fsub_rn(float a, float b) { return a - b; }
static inline float __fmul_rn(float a, float b) { return a * b; }
static inline float __fdiv_rn(float a, float b) { return a / b; }
static inline float __fmaf_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
static inline double __dadd_rn(double a, double b) { return a + b; }
static inline double __dsub_rn(double a, double b) { return a - b; }
static inline double __dmul_rn(double a, double b) { return a * b; }
static inline double __ddiv_rn(double a, double b) { return a / b; }
static inline double __fma_rn(double a, double b, double c) { return __builtin_fma(a, b, c); }
static inline float __fsqrt_rn(float a) { return __builtin_sqrtf(a); }
static inline double __dsqrt_rn(double a) { return __builtin_sqrt(a); }
extern "C" float floorf(float), ceilf(float), truncf(float), rintf(float);
extern "C" double floor(double), ceil(double), trunc(double), rint(double);

template <class To, class From>
static inline To shim_bits(From from) {
  static_assert(sizeof(To) == sizeof(From), "a bit cast keeps the size");
  To to;
  __builtin_memcpy(&to, &from, sizeof to);
  return to;
}
static inline int __float_as_int(float x) { return shim_bits<int>(x); }
static inline float __int_as_float(int x) { return shim_bits<float>(x); }
static inline long long __double_as_longlong(double x) { return shim_bits<long long>(x); }
static inline double __longlong_as_double(long long x) { return shim_bits<double>(x); }

/// Runs `thread(data)` for each thread of a grid of `blocks` blocks with `threads` threads each.
/// order: 0 forwards, 1 backwards, others a permutation of all threads drawn from that seed.
extern "C" void shim_launch(unsigned blocks, unsigned threads, void (*thread)(void*), void* data, unsigned order) {
  gridDim.x = blocks;
  blockDim.x = threads;
  unsigned long long const count = (unsigned long long)blocks * threads;
  // i * step mod count visits each thread once when step and count have no common factor.
  unsigned long long step = order == 1 && count > 1 ? count - 1 : 1;
  if (order > 1)
    for (step = order * 2654435761ULL % count | 1;; step += 2) {
      unsigned long long a = step, b = count;
      while (b != 0) {
        unsigned long long const rest = a % b;
        a = b;
        b = rest;
      }
      if (a == 1) break;
    }
  for (unsigned long long i = 0, at = 0; i < count; ++i, at = (at + step) % count) {
    blockIdx.x = (unsigned)(at / threads);
    threadIdx.x = (unsigned)(at % threads);
    blockIdx.y = blockIdx.z = threadIdx.y = threadIdx.z = 0;
    thread(data);
  }
}
