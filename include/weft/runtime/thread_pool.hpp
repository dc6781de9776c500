// Fork and join: a loop cut into contiguous pieces, one per thread.
//
// weft has its own pool because libgomp's hangs in the child of a fork, and because a kernel's parallel loop needs
// nothing else: no tasks, no allocation after the threads are there.
#pragma once

#include <cstdint>

#include "weft/runtime/call_threads.hpp"
#include "weft/runtime/loop_times.hpp"

namespace weft::inline WEFT_ABI {
namespace runtime {

/// Where piece `i` begins of a loop over 0..count in contiguous pieces of nearly equal size.
constexpr std::int64_t piece_begin(std::int64_t count, int pieces, int i) {
  std::int64_t const longer = count % pieces;  // so many pieces, the first ones, have one more
  return i * (count / pieces) + (i < longer ? i : longer);
}

/// Threads that wait for loops.
///
/// Workers start at the first loop that needs them. After a loop they spin for `spin_ns`, so that the next loop of
/// a kernel finds them awake, then sleep. They have all signals blocked.
///
/// To wake a worker takes as long as a short loop. So where one that it needs sleeps, a loop that took less than `short_ns` before is done
/// by its caller alone, until loops that follow one another within `spin_ns` have spent `wake_ns` so: then more are expected.
///
/// A loop of four iterations or more for each thread, that took `shared_ns` before, is taken in parts: half of what is left of a thread's own piece at a
/// time, then half of what is left of another's. So threads end together also where one of them is slower, or another program has its processor.
class thread_pool {
 public:
  static constexpr int max_threads = most_threads;
  static constexpr std::int64_t spin_ns = 30000;
  static constexpr std::int64_t short_ns = 12000;  // of one thread
  static constexpr std::int64_t wake_ns = 8000;
  static constexpr std::int64_t shared_ns = 200000;  // of one thread

  /// `threads` counts the caller of `run`: 1 has no workers.
  explicit thread_pool(int threads);
  /// `retire`.
  ~thread_pool();
  thread_pool(thread_pool const&) = delete;
  thread_pool& operator=(thread_pool const&) = delete;

  /// Calls `body` for contiguous pieces that together are 0..count and returns when all are done: one for each thread, or
  /// parts of these in a long loop. The caller takes part; piece i goes to the same worker each time unless that one is late. A thread's
  /// place is the number of its piece, also while it takes over parts of others.
  ///
  /// Needs    `body` does not throw, and does not go on in the child of a fork that it made
  /// Threads  any; a call from within a body, or while another thread's loop runs, is done by its caller alone
  /// Fork     works in the child, with workers of its own
  /// Cost     with awake workers 0.2 us for two threads; a sleeping worker takes the kernel's time to wake, but the
  ///          caller does the pieces that nobody has begun, and short loops alone
  void run(std::int64_t count, loop_body* body, void* context, std::int64_t at_most_threads = max_threads);

  /// Joins the workers; loops are done by their callers alone from then on. No `run` may be under way.
  void retire();

  /// The caller counts as one.
  int threads() const { return threads_; }

 private:
  struct worker;
  friend struct fork_handlers;
  static void* start(void* argument);
  void work(worker& me);
  std::uint64_t next_job(worker& me, std::uint64_t seen);
  int start_workers(int wanted);
  void wake_workers(int pieces);
  bool claim(int piece, std::uint64_t job);
  void run_piece(int piece, int pieces);
  void share_out(int pieces);
  bool take_part(int owner, bool from_front, std::int64_t& begin, std::int64_t& end);
  void finish_piece();
  void await_pieces();
  void forget_workers();
  bool is_one_asleep(int pieces) const;
  bool is_worth_waking(std::int64_t ns, std::int64_t now);

  // What a loop is; workers read it after they claimed a piece, which keeps the loop from ending.
  alignas(64) std::uint64_t job_ = 0;  // number of the loop << 16 | pieces; its low half is what workers sleep on
  loop_body* body_ = nullptr;
  void* context_ = nullptr;
  std::int64_t count_ = 0;
  bool in_parts_ = false;
  alignas(64) std::uint32_t remaining_ = 0;  // pieces not done, without the caller's; top bit: the caller sleeps
  alignas(64) std::int32_t sleepers_ = 0;
  std::int32_t busy_ = 0;  // a loop is under way
  std::int32_t stopping_ = 0;
  int started_ = 0;
  int threads_;
  std::int64_t spin_ns_;
  bool spread_;                   // there is a processor for each thread
  unsigned char allowed_[128]{};  // the processors of the thread that started the workers, a cpu_set_t
  worker* workers_;
  // Of who runs a loop, `busy_`, as those above.
  detail::loop_times lengths_;  // when workers slept; by body, iterations and pieces
  std::int64_t alone_until_ = 0, alone_ns_ = 0;  // when the last short loop that was done alone ended; how long those in a row took
  thread_pool *next_ = nullptr, *previous_ = nullptr;  // of all pools, for the child of a fork
};

/// The pool of the process: WEFT_THREADS threads, else `host().threads`. Never destroyed; it retires when the shared
/// library that has it is unloaded.
///
/// Errors  device_error in the child of a fork that was under way before weft was first used (base/fork_gate.hpp)
thread_pool& default_pool();

}  // namespace runtime
}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/runtime/thread_pool.ipp"
#endif
