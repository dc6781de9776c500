// The loops of limits.hpp, for the machine that builds this. Without std: nothing inline is shared with other files.
#include <time.h>

#include "limits.hpp"

#if defined(__AVX512F__) || defined(__AVX2__)
#include <immintrin.h>
#endif

namespace bench::peers {
namespace {
#if defined(__AVX512F__)
constexpr int lanes = 16;
using reg = __m512;
inline reg load(float const* p) { return _mm512_load_ps(p); }
inline void store(float* p, reg v) { _mm512_store_ps(p, v); }
inline void stream(float* p, reg v) { _mm512_stream_ps(p, v); }
inline reg plus(reg a, reg b) { return _mm512_add_ps(a, b); }
#elif defined(__AVX2__)
constexpr int lanes = 8;
using reg = __m256;
inline reg load(float const* p) { return _mm256_load_ps(p); }
inline void store(float* p, reg v) { _mm256_store_ps(p, v); }
inline void stream(float* p, reg v) { _mm256_stream_ps(p, v); }
inline reg plus(reg a, reg b) { return _mm256_add_ps(a, b); }
#else
constexpr int lanes = 1;
using reg = float;
inline reg load(float const* p) { return *p; }
inline void store(float* p, reg v) { *p = v; }
inline void stream(float* p, reg v) { *p = v; }
inline reg plus(reg a, reg b) { return a + b; }
#endif
[[maybe_unused]] double seconds() {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}
/// The best of some rounds of `round`, which does `operations`.
template <class Round>
[[maybe_unused]] double best_rate(double operations, Round const& round) {
  double best = 0;
  for (int i = 0; i < 12; ++i) {
    double const start = seconds();
    round();
    double const rate = 1e-9 * operations / (seconds() - start);
    if (rate > best) best = rate;
  }
  return best;
}
}  // namespace

void copy_loop(float* to, float const* from, std::int64_t count) {
  for (std::int64_t i = 0; i < count; i += 4 * lanes) {
    reg const a = load(from + i), b = load(from + i + lanes), c = load(from + i + 2 * lanes), d = load(from + i + 3 * lanes);
    store(to + i, a), store(to + i + lanes, b), store(to + i + 2 * lanes, c), store(to + i + 3 * lanes, d);
  }
}
void copy_past_cache_loop(float* to, float const* from, std::int64_t count) {
  for (std::int64_t i = 0; i < count; i += 4 * lanes) {
    reg const a = load(from + i), b = load(from + i + lanes), c = load(from + i + 2 * lanes), d = load(from + i + 3 * lanes);
    stream(to + i, a), stream(to + i + lanes, b), stream(to + i + 2 * lanes, c), stream(to + i + 3 * lanes, d);
  }
#if defined(__AVX2__) || defined(__AVX512F__)
  _mm_sfence();
#endif
}
void copy_asked_loop(float* to, float const* from, std::int64_t count) {
  for (std::int64_t i = 0; i < count; i += 4 * lanes) {
    for (std::int64_t line = i + 1024; line < i + 1024 + 4 * lanes; line += 16) {  // past the end nothing is asked for
      __builtin_prefetch(to + (line < count ? line : i), 1);
      __builtin_prefetch(from + (line < count ? line : i));
    }
    reg const a = load(from + i), b = load(from + i + lanes), c = load(from + i + 2 * lanes), d = load(from + i + 3 * lanes);
    store(to + i, a), store(to + i + lanes, b), store(to + i + 2 * lanes, c), store(to + i + 3 * lanes, d);
  }
}
float read_loop(float const* from, std::int64_t count) {
  reg a{}, b{}, c{}, d{};
  for (std::int64_t i = 0; i < count; i += 4 * lanes) {
    a = plus(a, load(from + i)), b = plus(b, load(from + i + lanes));
    c = plus(c, load(from + i + 2 * lanes)), d = plus(d, load(from + i + 3 * lanes));
  }
  alignas(64) float all[lanes];
  store(all, plus(plus(a, b), plus(c, d)));
  return all[0];
}

float read_asked_loop(float const* from, std::int64_t count) {
  reg a{};
  for (std::int64_t i = 0; i < count; i += lanes) {
    if (i % 16 == 0) __builtin_prefetch(from + (i + 512 < count ? i + 512 : i));  // past the end nothing is asked for
    a = plus(a, load(from + i));
  }
  alignas(64) float all[lanes];
  store(all, a);
  return all[0];
}

// Twelve sums in registers. They begin with different values, or the compiler would compute equal ones once.
#if defined(__AVX512VNNI__)
double u8s8_gops() {
  constexpr int steps = 100000;
  return best_rate(2.0 * 64 * 12 * steps, [] {
    __m512i const a = _mm512_set1_epi8(3), b = _mm512_set1_epi8(-2);
    __m512i sums[12];
    for (int k = 0; k < 12; ++k) sums[k] = _mm512_set1_epi32(k);
    for (int i = 0; i < steps; ++i)
#pragma GCC unroll 12
      for (int k = 0; k < 12; ++k) sums[k] = _mm512_dpbusd_epi32(sums[k], a, b);
    for (int k = 1; k < 12; ++k) sums[0] = _mm512_add_epi32(sums[0], sums[k]);
    alignas(64) int all[16];
    _mm512_store_si512(all, sums[0]);
    int volatile kept = all[0];
    static_cast<void>(kept);
  });
}
#else
double u8s8_gops() { return 0; }
#endif
#if defined(__AVX512BF16__)
double bf16_gflops() {
  constexpr int steps = 100000;
  return best_rate(2.0 * 32 * 12 * steps, [] {
    __m512bh const a = _mm512_cvtne2ps_pbh(_mm512_set1_ps(1.5f), _mm512_set1_ps(0.75f));
    __m512 sums[12];
    for (int k = 0; k < 12; ++k) sums[k] = _mm512_set1_ps(static_cast<float>(k));
    for (int i = 0; i < steps; ++i)
#pragma GCC unroll 12
      for (int k = 0; k < 12; ++k) sums[k] = _mm512_dpbf16_ps(sums[k], a, a);
    for (int k = 1; k < 12; ++k) sums[0] = _mm512_add_ps(sums[0], sums[k]);
    float volatile kept = _mm512_cvtss_f32(sums[0]);
    static_cast<void>(kept);
  });
}
#else
double bf16_gflops() { return 0; }
#endif

#if defined(__AMX_BF16__) && defined(__AMX_INT8__)
namespace {
/// Four tiles of sums, as many as two by two operands have.
template <class Step>
double tiles_rate(double each, Step const& step) {
  constexpr int steps = 20000;
  return best_rate(each * 4 * steps, [&] {
    alignas(64) static unsigned long long const shapes[8] = {1, 0, 0x0040004000400040, 0x0040004000400040, 0, 0, 0x1010101010101010, 0};
    alignas(64) static unsigned char const ones[1024] = {1, 1, 1, 1};
    _tile_loadconfig(shapes);
    _tile_loadd(4, ones, 64);  // macros, each a statement
    _tile_loadd(5, ones, 64);
    _tile_loadd(6, ones, 64);
    _tile_loadd(7, ones, 64);
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (int i = 0; i < steps; ++i) step();
    _tile_release();
  });
}
}  // namespace
double tiles_bf16_gflops() {
  return tiles_rate(2.0 * 16 * 16 * 32, [] {
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  });
}
double tiles_u8s8_gops() {
  return tiles_rate(2.0 * 16 * 16 * 64, [] {
    _tile_dpbusd(0, 4, 6);
    _tile_dpbusd(1, 4, 7);
    _tile_dpbusd(2, 5, 6);
    _tile_dpbusd(3, 5, 7);
  });
}
#else
double tiles_bf16_gflops() { return 0; }
double tiles_u8s8_gops() { return 0; }
#endif

}  // namespace bench::peers
