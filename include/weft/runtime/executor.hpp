// Parallel loops on other threads than weft's own: OpenMP's, oneTBB's, a pool of the program's.
//
//     weft::executor openmp{.threads = omp_get_max_threads()};
//     openmp.run = [](void*, int count, weft::executor::task task, void* data) {
//     #pragma omp parallel for schedule(static, 1)
//       for (int i = 0; i < count; ++i) task(data, i);
//     };
//     weft::set_executor(openmp);
#pragma once

#include "weft/runtime/call_threads.hpp"
#include "weft/runtime/thread_pool.hpp"

namespace weft::inline WEFT_ABI {

/// Who runs the parallel loops of kernels.
struct executor {
  using task = void (*)(void* data, int index);

  /// Calls each(data, i) once for every i in 0 .. count, on whichever threads, and returns when all of them have
  /// returned. Null: weft's own pool does it.
  ///
  /// Tasks do not throw. `run` may: what it throws leaves the kernel's call after the kernel has ended, with outputs
  /// partly written; no task may be running any more by then.
  ///
  /// Threads  called on each thread that calls kernels, at once. Where kernels are called in tasks of the same pool,
  ///          `run` must not wait for a thread that waits for it; to do all tasks itself is always right
  void (*run)(void* context, int count, task each, void* data) = nullptr;
  /// Handed to `run`.
  void* context = nullptr;
  /// In how many tasks a loop is cut at most, 4096 where there are more; 0: one for each thread that weft's own pool would
  /// have (WEFT_THREADS). A loop that is a single task runs on its caller, and so does one that since `set_executor` was met
  /// and took less than 12 us of one thread: to hand it over takes longer.
  int threads = 0;

  friend bool operator==(executor const&, executor const&) = default;
};

/// From now on kernels that are called in this process, on any thread, use `e`; answers what they used before. `{}` is
/// weft's own pool, `{.threads = n}` no more than n of its threads.
///
/// Errors  argument_error when `threads` is negative; a kernel's call ends in device_error when `run` left out a task,
///         asked for one again (it is not done twice), or for one that does not exist; as `host` in the child of a fork
/// Threads any; calls under way go on with the executor that they began with, which must live until they end
/// Cost    two atomic operations and two looks at the clock for each task, beside what `run` takes; with weft's own pool, one load for each call
executor set_executor(executor const& e);

}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/runtime/executor.ipp"
#endif
