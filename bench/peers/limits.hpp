// What this machine can do at most, measured in the run that it is compared with.
#pragma once

#include <cstdint>

namespace bench::peers {

enum class arithmetic { f32, bf16, u8s8 };

/// 10^9 operations a second of that many threads, an fma counts as two. Measured once.
double peak(arithmetic a, int threads);

/// What one thread does in registers, of code for the machine that built this; 0: no such instruction.
double u8s8_gops();
double bf16_gflops();
/// By AMX's tiles, for which Linux has to be asked before (weft::host() does).
double tiles_u8s8_gops();
double tiles_bf16_gflops();

struct bandwidth {
  double read = 0, read_asked = 0, copy = 0, copy_past_cache = 0, copy_asked = 0;  // GB/s; of copies, what is read and what is written together
};

/// Over and over the same memory of that many bytes in all. The best of several rounds: a limit is not lowered by what others do.
bandwidth bandwidth_at(std::int64_t bytes, int threads);

// The loops, for count floats; all pointers aligned to 64 bytes, count a multiple of 64.
void copy_loop(float* to, float const* from, std::int64_t count);
void copy_past_cache_loop(float* to, float const* from, std::int64_t count);
/// Of which lines are asked for 4 KiB before they are read and written.
void copy_asked_loop(float* to, float const* from, std::int64_t count);
float read_loop(float const* from, std::int64_t count);
/// One vector at a time, each line of which is asked for 2 KiB before.
float read_asked_loop(float const* from, std::int64_t count);

}  // namespace bench::peers
