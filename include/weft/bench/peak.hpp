// The most that this machine's cores can compute, measured by a weft kernel.
#pragma once

#include <cstdint>

#include "weft/config.hpp"

namespace weft::inline WEFT_ABI {

/// GFLOP/s of fused multiply-adds on f32 in registers, one thread: the ceiling of every dense kernel.
///
/// The kernel keeps twelve vectors of sums and adds a product to each, over and over; nothing leaves the registers
/// (a loop over an array of vectors in C++ is not that: compilers keep the array in memory).
/// Units   10^9 floating-point operations a second, an fma counts as two; the best of several runs
/// Cost    20 ms
double fma_peak_gflops();

/// GB/s of a copy of what no cache holds, with stores that go past the caches or through them, whichever is faster; what is read
/// and what is written, together.
///
/// Units   10^9 bytes a second; the best of several runs
/// Cost    0.3 to 0.8 s, and twice four times the last cache's bytes meanwhile: 512 MiB at most, and a quarter of what is free
/// Errors  device_error where there is no memory for 1 MiB
double memory_peak_gbs(int threads);

namespace bench {
/// Bytes of each of the two tensors of memory_peak_gbs: four times the last cache, but 256 MiB at most, since a virtual machine or a container has a part of the caches that
/// it is told of, and no more than an eighth of the memory that is free.
std::int64_t bytes_beyond_caches();
/// Both, on so many threads.
struct machine_peaks {
  double gflops = 0, gbs = 0;
};
/// Measured once on a machine, and kept in the directory of the cache for it, by its processor, caches and threads; without a cache, once in a process.
///
/// Cost    memory_peak_gbs the first time, and once more for each number of threads; in another process the read of a small file
machine_peaks peaks_of(int threads);
/// Measures again: for who has seen more than they say, as when other programs ran meanwhile. The larger numbers are kept.
machine_peaks peaks_measured_again(int threads);
/// peaks_of, measured again where a call that took `ns` has shown more: `f32_operations` at the peak of f32, or `bytes` that no cache holds; 0: not known.
machine_peaks peaks_beside(int threads, double f32_operations, double bytes, double ns);
}  // namespace bench

}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/bench/peak.ipp"
#endif
