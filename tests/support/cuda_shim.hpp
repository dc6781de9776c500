// What CUDA C++ means on the host: just enough to run weft's generated kernels, a fiber for each thread of a block.
//
// It stands in front of a kernel's text (-include) and stays free of the library. Blocks run one after the other, the
// threads of a block in the order that `order` says (0 forwards, 1 backwards, others drawn from it), up to their next
// barrier or their end; then, in another order, up to the one after that. A thread that exchanges values with others of its
// warp stops until all of them do. Shared memory is poisoned in front of each block. Under sanitizers the fibers are theirs, too
// (cuda_shim_fiber.hpp).
#pragma once

#include <stdlib.h>
#include <string.h>

#include "cuda_shim_fiber.hpp"

#define __global__
#define __device__
#define __shared__ thread_local  // one for all fibers; `static` cannot stand behind `extern`
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __syncthreads() shim_wait(__LINE__)

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

// Half precision, to nearest, ties to even; a NaN becomes one without its sign.
[[gnu::unused]] static float shim_f16_to_f32(unsigned short h) {
  int const exponent = h >> 10 & 31, mantissa = h & 1023;
  float const size = exponent == 31 ? (mantissa != 0 ? __builtin_nanf("") : __builtin_inff())
                                    : __builtin_ldexpf(float(exponent == 0 ? mantissa : 1024 + mantissa), (exponent == 0 ? 1 : exponent) - 25);
  return h >> 15 ? -size : size;
}
[[gnu::unused]] static unsigned short shim_f32_to_f16(float x) {
  unsigned const sign = shim_bits<unsigned>(x) >> 31 << 15;
  float const size = __builtin_fabsf(x);
  if (!(x == x)) return 0x7e00;
  if (size >= 65520.0f) return static_cast<unsigned short>(sign | 0x7c00);
  int exponent = 0;
  __builtin_frexpf(size, &exponent);  // size is below 2^exponent
  int const unit = size < 0x1p-14f ? -24 : exponent - 11;
  int const whole = static_cast<int>(rintf(__builtin_ldexpf(size, -unit)));
  return static_cast<unsigned short>(sign | static_cast<unsigned>(whole + (unit == -24 ? 0 : (unit + 24) * 1024)));
}

// --- threads ---------------------------------------------------------------------------------------------------------
constexpr unsigned shim_shared_limit = 227 * 1024, shim_fence = 4096;
__shared__ __align__(1024) unsigned char weft_shared[shim_shared_limit + shim_fence];

/// An asynchronous copy: the first `there` bytes, then zeros.
struct shim_copying {
  unsigned char* to;
  unsigned char const* from;
  unsigned bytes, there, group;
};
struct shim_fiber : shim_switchable {
  shim_dim3 index;
  int line = 0;      // of the barrier at which it waits; 0: at none
  unsigned barriers = 0;
  int distance = 0;  // of the exchange at which it waits; 0: at none
  unsigned long long given = 0, taken = 0;
  unsigned char mail[2][32];  // what it shows to the others of its warp, in turns: some may still read what it showed before
  unsigned mails = 0;
  bool ended = false;
  shim_copying* copies = nullptr;  // in flight
  unsigned copy_count = 0, copy_room = 0, groups = 0;
};
static shim_fiber* shim_fibers = nullptr;
static unsigned shim_fiber_count = 0;
static shim_fiber* shim_now = nullptr;
static void (*shim_thread)(void*) = nullptr;
static void* shim_data = nullptr;

[[gnu::unused]] static void shim_wait(int line) {
  shim_unseen const own;
  shim_now->line = line;
  ++shim_now->barriers;
  shim_sync::give(shim_sync::barrier(shim_now->barriers));
  shim_leave(*shim_now, false);
  shim_sync::take(shim_sync::barrier(shim_now->barriers));
}
/// The words of CUDA's: of 32 or 64 bits.
template <class T>
static T __shfl_xor_sync(unsigned mask, T value, int distance) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "CUDA exchanges words of 32 and 64 bits");
  shim_unseen const own;
  if (mask != 0xffffffffu || distance < 1 || distance > 31) __builtin_trap();
  __builtin_memcpy(&shim_now->given, &value, sizeof value);
  shim_now->distance = distance;
  shim_leave(*shim_now, false);
  __builtin_memcpy(&value, &shim_now->taken, sizeof value);
  return value;
}
/// Until it has arrived its bytes are NaN.
[[gnu::unused]] static void shim_copy(void* to, void const* from, unsigned bytes, unsigned there) {
  shim_fiber& f = *shim_now;
  auto* const place = static_cast<unsigned char*>(to);
  bool const aligned = (reinterpret_cast<unsigned long>(to) | (there != 0 ? reinterpret_cast<unsigned long>(from) : 0)) % bytes == 0;
  bool const shared = place >= weft_shared && place + bytes <= weft_shared + shim_shared_limit;
  if (!aligned || !shared) __builtin_trap();
  if (f.copy_count == f.copy_room) f.copies = static_cast<shim_copying*>(realloc(f.copies, (f.copy_room = 2 * f.copy_room + 64) * sizeof(shim_copying)));
  f.copies[f.copy_count++] = {place, static_cast<unsigned char const*>(from), bytes, there, f.groups};
  memset(to, 0xff, bytes);
}
[[gnu::unused]] static void shim_commit() { ++shim_now->groups; }
[[gnu::unused]] static void shim_wait_group(unsigned left) {
  shim_fiber& f = *shim_now;
  unsigned kept = 0;
  for (unsigned i = 0; i < f.copy_count; ++i) {
    shim_copying const& c = f.copies[i];
    if (c.group + left >= f.groups) {
      f.copies[kept++] = c;
      continue;
    }
    memcpy(c.to, c.from, c.there);
    memset(c.to + c.there, 0, c.bytes - c.there);
  }
  f.copy_count = kept;
}
static void shim_run() {
  shim_sync::take(shim_sync::begin);
  shim_thread(shim_data);
  shim_unseen const own;
  shim_sync::give(shim_sync::end);
  shim_now->ended = true;
}
SHIM_NEVER_SEEN static void shim_entry() {
  shim_arrived(*shim_now);
  shim_run();
  shim_leave(*shim_now, true);
}
static unsigned long long shim_random(unsigned long long& state) {
  unsigned long long z = (state += 0x9e3779b97f4a7c15ULL);  // splitmix64
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  return z ^ (z >> 27);
}
/// Whether all threads of the warp of `one` have come to an exchange; then each has its value. `wrong` is what is wrong.
static bool shim_exchanged(unsigned one, unsigned threads, char const*& wrong) {
  unsigned const begin = one / 32 * 32;
  for (unsigned i = begin; i < begin + 32; ++i) {
    if (i >= threads) return wrong = "threads of a warp that is not whole exchange values", false;
    if (shim_fibers[i].distance == 0) return false;
    if (shim_fibers[i].distance != shim_fibers[one].distance) return wrong = "threads of a warp are at different exchanges", false;
  }
  for (unsigned i = begin; i < begin + 32; ++i) {
    shim_fiber& f = shim_fibers[i];
    f.taken = shim_fibers[i ^ static_cast<unsigned>(f.distance & 31)].given;  // of mail, at distances from 32 on, its own
  }
  for (unsigned i = begin; i < begin + 32; ++i) shim_fibers[i].distance = 0;
  return true;
}
/// Which lane has which element of a fragment is drawn anew (cuda_shim_matrix.hpp).
static void shim_draw_lanes(unsigned order);

/// A block's threads up to their ends. Null, or what is wrong.
static char const* shim_block(unsigned threads, unsigned order, unsigned long long& state) {
  unsigned* const turn = static_cast<unsigned*>(malloc(threads * sizeof(unsigned)));
  for (unsigned i = 0; i < threads; ++i) {
    shim_fiber& f = shim_fibers[i];
    f.ended = false;
    f.line = f.distance = 0;
    f.barriers = f.mails = f.copy_count = f.groups = 0;
    f.index = {i % blockDim.x, i / blockDim.x % blockDim.y, i / blockDim.x / blockDim.y};
    f.begin(shim_entry);
    turn[i] = order == 1 ? threads - 1 - i : i;
  }
  char const* wrong = nullptr;
  for (bool more = true; more && wrong == nullptr;) {
    for (unsigned i = 1; order > 1 && i < threads; ++i) {
      unsigned const other = static_cast<unsigned>(shim_random(state) % (i + 1)), moved = turn[i];
      turn[i] = turn[other];
      turn[other] = moved;
    }
    unsigned ended = 0;
    int line = 0;
    for (unsigned i = 0; i < threads; ++i) shim_fibers[i].line = 0;
    // In a drawn order all take turns at their exchanges; else a warp goes as far as it can before the next one begins.
    unsigned const group = order > 1 ? threads : 32;
    for (unsigned begin = 0; begin < threads; begin += group)
      for (bool moved = true; moved && wrong == nullptr;) {
        moved = false;
        for (unsigned i = begin; i < begin + group && i < threads && wrong == nullptr; ++i) {
          shim_now = &shim_fibers[turn[i]];
          if (shim_now->ended || shim_now->line != 0) continue;
          if (shim_now->distance != 0 && !shim_exchanged(turn[i], threads, wrong)) continue;
          threadIdx = shim_now->index;
          moved = true;
          shim_enter(*shim_now);
        }
      }
    for (unsigned i = 0; i < threads && wrong == nullptr; ++i) {
      shim_fiber const& f = shim_fibers[i];
      if (f.ended) ++ended;
      if (f.ended && f.copy_count != 0) wrong = "a thread has ended, and what it copied was not waited for";
      else if (f.ended) continue;
      else if (f.distance != 0) wrong = "some threads of a warp exchange values, others do not come";
      else if (line != 0 && line != f.line) wrong = "threads of a block wait at different barriers";
      else line = f.line;
    }
    if (wrong == nullptr && ended != 0 && ended != threads) wrong = "some threads of a block wait at a barrier, others have ended";
    more = ended == 0;
  }
  free(turn);
  return wrong;
}

/// Runs `thread(data)` for each thread of a grid. Null, or what is wrong with the way in which they wait, or with the shared
/// memory: of `shared_bytes` in front of a fence.
extern "C" char const* shim_launch(unsigned const* blocks, unsigned const* threads, unsigned shared_bytes,
                                   void (*thread)(void*), void* data, unsigned order) {
  shim_unseen const own;
  gridDim = {blocks[0], blocks[1], blocks[2]};
  blockDim = {threads[0], threads[1], threads[2]};
  unsigned const count = threads[0] * threads[1] * threads[2];
  if (shared_bytes > shim_shared_limit) return "more shared memory than there is";
  if (shim_fiber_count < count) {
    shim_fiber* const more = new shim_fiber[count];
    for (unsigned i = 0; i < count; ++i) {
      if (i < shim_fiber_count) more[i] = shim_fibers[i];
      else more[i].make();
    }
    delete[] shim_fibers;
    shim_fibers = more;
    shim_fiber_count = count;
  }
  shim_thread = thread;
  shim_data = data;
  shim_draw_lanes(order);
  unsigned long long state = order;
  unsigned long long const all = (unsigned long long)blocks[0] * blocks[1] * blocks[2];
  char const* wrong = nullptr;
  memset(weft_shared, 0xff, sizeof weft_shared);  // NaN, and far outside as an index
  for (unsigned long long i = 0; i < all && wrong == nullptr; ++i) {
    unsigned long long const b = order == 1 ? all - 1 - i : i;
    blockIdx = {(unsigned)(b % blocks[0]), (unsigned)(b / blocks[0] % blocks[1]), (unsigned)(b / blocks[0] / blocks[1])};
    if (i != 0) memset(weft_shared, 0xff, shared_bytes + shim_fence);
    shim_fence_off(weft_shared, shared_bytes, sizeof weft_shared);
    shim_sync::give(shim_sync::begin);
    wrong = shim_block(count, order, state);
    shim_sync::take(shim_sync::end);
    shim_open(weft_shared, sizeof weft_shared);
    for (unsigned k = shared_bytes; k < shared_bytes + shim_fence && wrong == nullptr; ++k)
      if (weft_shared[k] != 0xff) wrong = "a store behind the shared memory";
  }
  if (wrong != nullptr)
    for (unsigned i = 0; i < shim_fiber_count; ++i) shim_open(shim_fibers[i].stack, shim_stack);  // left in the middle
  return wrong;
}
/// The memory of the threads.
__attribute__((destructor)) static void shim_end() {
  for (unsigned i = 0; i < shim_fiber_count; ++i) shim_fibers[i].unmake(), free(shim_fibers[i].copies);
  delete[] shim_fibers;
}

#include "cuda_shim_matrix.hpp"
#include "cuda_shim_mma.hpp"
