#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "weft/base/fork_gate.hpp"
#include "weft/base/mutex.hpp"
#include "weft/base/unload.hpp"
#include "weft/codegen/target.hpp"
#include "weft/runtime/thread_pool.hpp"

namespace weft::inline WEFT_ABI {
namespace runtime {

struct alignas(64) thread_pool::worker {
  std::uint64_t claimed = 0;  // the last loop whose piece `index` somebody took
  std::uint64_t seen = 0;     // the job of before the start
  thread_pool* pool = nullptr;
  int index = 0;
  int number = 0;     // the kernel's name of the thread
  int processor = 0;  // where it fell asleep
  std::int32_t asleep = 0;
  std::uint64_t left = 0;  // of the piece `index` of a loop that is taken in parts: where it begins << 32 | where it ends
  pthread_t thread{};
};

namespace detail {
inline constexpr std::uint32_t caller_sleeps = 0x80000000u;

inline void futex_wait(void const* word, std::uint32_t expected) {
  ::syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}
inline void futex_wake(void const* word, int count) {
  ::syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}
inline void const* low_half(std::uint64_t const* word) {
  return reinterpret_cast<char const*>(word) + (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? 4 : 0);
}
inline std::int64_t now_ns() {
  timespec t;
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return std::int64_t(t.tv_sec) * 1000000000 + t.tv_nsec;
}
inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  __asm__ volatile("yield");
#endif
}
// Whether `ready()` became true within `ns`. By the clock, because a pause takes 10 to 140 cycles.
template <class Ready>
inline bool spin_until(std::int64_t ns, Ready ready) {
  if (ready()) return true;
  if (ns == 0) return false;
  for (std::int64_t const end = now_ns() + ns; now_ns() < end;)
    for (int i = 0; i < 32; ++i) {
      if (ready()) return true;
      relax();
    }
  return false;
}
}  // namespace detail

// A fork leaves the child without workers and perhaps in the middle of another thread's loop, so the child's
// pools start anew. The list is locked over the fork, so that the child finds it whole.
struct fork_handlers {
  mutex lock;
  thread_pool* first = nullptr;

  static fork_handlers& instance() {
    static fork_handlers& only = *new fork_handlers;
    static int const registered = ::pthread_atfork([] { instance().lock.lock(); }, [] { instance().lock.unlock(); },
                                                   [] { instance().in_child(); });
    (void)registered;
    return only;
  }
  void in_child() {
    for (auto* p = first; p != nullptr; p = p->next_) p->forget_workers();
    lock.unlock();
  }
  void add(thread_pool& p) {
    guard const g(lock);
    p.next_ = first;
    if (first != nullptr) first->previous_ = &p;
    first = &p;
  }
  void remove(thread_pool& p) {
    guard const g(lock);
    (p.previous_ != nullptr ? p.previous_->next_ : first) = p.next_;
    if (p.next_ != nullptr) p.next_->previous_ = p.previous_;
  }
};

WEFT_HOT_DECL thread_pool::thread_pool(int threads)
    : threads_(threads < 1             ? 1
               : threads > max_threads ? max_threads
                                       : threads),
      // More threads than processors: whoever spins keeps the one from running that is waited for.
      spin_ns_(threads_ > host().threads ? 0 : spin_ns),
      spread_(spin_ns_ > 0),
      workers_(new worker[static_cast<std::size_t>(threads_)]) {
  fork_handlers::instance().add(*this);
}

WEFT_HOT_DECL void thread_pool::retire() {
  if (workers_ == nullptr) return;
  fork_handlers::instance().remove(*this);
  threads_ = 1;
  __atomic_store_n(&stopping_, 1, __ATOMIC_RELAXED);
  __atomic_store_n(&job_, ((job_ >> 16) + 1) << 16, __ATOMIC_SEQ_CST);
  detail::futex_wake(detail::low_half(&job_), max_threads);
  for (int i = 1; i <= started_; ++i) ::pthread_join(workers_[i].thread, nullptr);
  delete[] workers_;
  workers_ = nullptr;
}
WEFT_HOT_DECL thread_pool::~thread_pool() { retire(); }

WEFT_HOT_DECL void thread_pool::forget_workers() {
  started_ = 0;
  sleepers_ = 0;
  busy_ = 0;
}

// Makes the number of workers `wanted`, or as many as the system gives; answers how many there are.
WEFT_HOT_DECL int thread_pool::start_workers(int wanted) {
  if (started_ >= wanted) return started_;
  if (started_ == 0 && ::sched_getaffinity(0, sizeof allowed_, reinterpret_cast<cpu_set_t*>(allowed_)) != 0)
    spread_ = false;
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  while (started_ < wanted) {
    worker& w = workers_[started_ + 1];
    w.seen = job_;
    w.pool = this;
    w.index = started_ + 1;
    w.number = 0;
    w.asleep = 0;
    if (::pthread_create(&w.thread, nullptr, start, &w) != 0) break;
    ++started_;
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started_;
}

WEFT_HOT_DECL void* thread_pool::start(void* argument) {
  auto& me = *static_cast<worker*>(argument);
  ::pthread_setname_np(::pthread_self(), "weft-pool");  // for people, and for who asks whether a fork is safe (tune/worker.hpp)
  __atomic_store_n(&me.number, static_cast<int>(::syscall(SYS_gettid)), __ATOMIC_RELAXED);
  me.pool->work(me);
  return nullptr;
}

WEFT_HOT_DECL void thread_pool::work(worker& me) {
  for (std::uint64_t job = me.seen;;) {
    job = next_job(me, job);
    int const pieces = static_cast<int>(job & 0xffff);
    if (pieces == 0 && __atomic_load_n(&stopping_, __ATOMIC_RELAXED) != 0) return;
    if (me.index >= pieces || !claim(me.index, job)) continue;
    run_piece(me.index, pieces);
    finish_piece();
  }
}

// Waits until the job is another one than `seen`.
WEFT_HOT_DECL std::uint64_t thread_pool::next_job(worker& me, std::uint64_t seen) {
  std::uint64_t job = seen;
  auto const changed = [&] { return (job = __atomic_load_n(&job_, __ATOMIC_ACQUIRE)) != seen; };
  if (detail::spin_until(spin_ns_, changed)) return job;
  // Either `run` sees the sleeper and wakes it, or the kernel sees the new job and does not let it sleep. After
  // exactly 65536 loops in between it would sleep over one, whose piece the caller then does.
  __atomic_store_n(&me.processor, ::sched_getcpu(), __ATOMIC_RELAXED);
  __atomic_store_n(&me.asleep, 1, __ATOMIC_SEQ_CST);
  __atomic_fetch_add(&sleepers_, 1, __ATOMIC_SEQ_CST);
  while (!changed()) detail::futex_wait(detail::low_half(&job_), static_cast<std::uint32_t>(seen));
  __atomic_fetch_sub(&sleepers_, 1, __ATOMIC_SEQ_CST);
  __atomic_store_n(&me.asleep, 0, __ATOMIC_RELAXED);
  return job;
}

// Whether a worker sleeps that has one of so many pieces; after a loop of few pieces all others do.
WEFT_HOT_DECL bool thread_pool::is_one_asleep(int pieces) const {
  if (__atomic_load_n(&sleepers_, __ATOMIC_SEQ_CST) == 0) return false;
  for (int i = 1; i < pieces; ++i)
    if (__atomic_load_n(&workers_[i].asleep, __ATOMIC_SEQ_CST) != 0) return true;
  return false;
}

// Linux may wake a thread on the processor of the caller, beside an idle one, and the loop then takes as long as
// without threads (seen in each of 25 loops of 2 x 200 us, kernel 6.18, two processors). So a worker that fell
// asleep here is told first to run elsewhere.
WEFT_HOT_DECL void thread_pool::wake_workers(int pieces) {
  int const here = ::sched_getcpu();
  for (int i = 1; spread_ && i < pieces; ++i) {
    worker& w = workers_[i];
    int const number = __atomic_load_n(&w.number, __ATOMIC_RELAXED);
    if (number == 0 || __atomic_load_n(&w.processor, __ATOMIC_RELAXED) != here) continue;
    cpu_set_t elsewhere;
    static_assert(sizeof elsewhere == sizeof allowed_);
    __builtin_memcpy(&elsewhere, allowed_, sizeof elsewhere);
    CPU_CLR(static_cast<unsigned>(here), &elsewhere);
    ::sched_setaffinity(number, sizeof elsewhere, &elsewhere);  // refused when empty
    __atomic_store_n(&w.processor, -1, __ATOMIC_RELAXED);
  }
  detail::futex_wake(detail::low_half(&job_), max_threads);
}

// Takes a piece of a loop for the calling thread, false when it is taken. A worker that comes too late for `job`
// finds the piece taken, since a loop ends only when all its pieces were; so claims only ever grow.
WEFT_HOT_DECL bool thread_pool::claim(int piece, std::uint64_t job) {
  std::uint64_t const number = job >> 16;
  std::uint64_t before = __atomic_load_n(&workers_[piece].claimed, __ATOMIC_RELAXED);
  return before < number && __atomic_compare_exchange_n(&workers_[piece].claimed, &before, number, false,
                                                        __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

WEFT_HOT_DECL void thread_pool::run_piece(int piece, int pieces) {
  if (!in_parts_) return body_(context_, piece_begin(count_, pieces, piece), piece_begin(count_, pieces, piece + 1), piece);
  std::int64_t begin = 0, end = 0;
  for (int i = 0; i < pieces; ++i)
    while (take_part((piece + i) % pieces, i == 0, begin, end)) body_(context_, begin, end, piece);
}

// Before the loop is known to others. What is left is nobody's: who claims a piece takes parts of all of them.
WEFT_HOT_DECL void thread_pool::share_out(int pieces) {
  for (int i = 0; i < pieces; ++i) {
    auto const begin = static_cast<std::uint64_t>(piece_begin(count_, pieces, i)), end = static_cast<std::uint64_t>(piece_begin(count_, pieces, i + 1));
    __atomic_store_n(&workers_[i].left, begin << 32 | end, __ATOMIC_RELAXED);
  }
}
// Half of what is left, rounded up: its owner from the front, others from the back, which is the last that the owner comes to. False: nothing is.
WEFT_HOT_DECL bool thread_pool::take_part(int owner, bool from_front, std::int64_t& begin, std::int64_t& end) {
  std::uint64_t& left = workers_[owner].left;
  for (std::uint64_t now = __atomic_load_n(&left, __ATOMIC_RELAXED);;) {
    std::uint64_t const from = now >> 32, to = now & 0xffffffffu;
    if (from >= to) return false;
    std::uint64_t const part = (to - from + 1) / 2, rest = from_front ? (from + part) << 32 | to : from << 32 | (to - part);
    if (!__atomic_compare_exchange_n(&left, &now, rest, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) continue;
    begin = static_cast<std::int64_t>(from_front ? from : to - part), end = begin + static_cast<std::int64_t>(part);
    return true;
  }
}

WEFT_HOT_DECL void thread_pool::finish_piece() {
  if (__atomic_fetch_sub(&remaining_, 1, __ATOMIC_ACQ_REL) == detail::caller_sleeps + 1)
    detail::futex_wake(&remaining_, 1);
}

WEFT_HOT_DECL void thread_pool::await_pieces() {
  auto const done = [&] { return (__atomic_load_n(&remaining_, __ATOMIC_ACQUIRE) & ~detail::caller_sleeps) == 0; };
  if (detail::spin_until(spin_ns_, done)) return;
  // What is looked at must be what the kernel compares: between two loads the last piece may end, and wake nobody.
  auto left = __atomic_fetch_or(&remaining_, detail::caller_sleeps, __ATOMIC_ACQ_REL) | detail::caller_sleeps;
  for (; left != detail::caller_sleeps; left = __atomic_load_n(&remaining_, __ATOMIC_ACQUIRE))
    detail::futex_wait(&remaining_, left);
}

// Of loops that come once in a while none is: a worker that was woken for one of them would sleep again before the next.
WEFT_HOT_DECL bool thread_pool::is_worth_waking(std::int64_t ns, std::int64_t now) {
  if (ns == 0 || ns >= short_ns) return true;
  if (now - alone_until_ >= spin_ns_) alone_ns_ = 0;
  if (alone_ns_ < wake_ns) return false;
  alone_ns_ = 0;
  return true;
}

WEFT_HOT_DECL void thread_pool::run(std::int64_t count, loop_body* body, void* context, std::int64_t at_most_threads) {
  if (count <= 0) return;
  int pieces = at_most_threads < threads_ ? static_cast<int>(at_most_threads) : threads_;
  if (count < pieces) pieces = static_cast<int>(count);
  std::int32_t idle = 0;
  if (pieces <= 1 || !__atomic_compare_exchange_n(&busy_, &idle, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
    return body(context, 0, count, 0);
  int const workers = start_workers(pieces - 1);
  if (pieces > workers + 1) pieces = workers + 1;
  bool const finds_asleep = is_one_asleep(pieces), has_parts = count >= 4 * pieces && count >> 31 == 0;  // else it is not timed
  std::uint64_t const loop = detail::loop_times::key(body, count, pieces);
  std::int64_t begin = 0;
  if (finds_asleep) {
    begin = detail::now_ns();
    if (!is_worth_waking(lengths_.of(loop), begin)) {
      body(context, 0, count, 0);
      alone_until_ = detail::now_ns();
      lengths_.note(loop, alone_until_ - begin);
      alone_ns_ += alone_until_ - begin;
      return __atomic_store_n(&busy_, 0, __ATOMIC_RELEASE);
    }
  }

  body_ = body;
  context_ = context;
  count_ = count;
  in_parts_ = has_parts && lengths_.of(loop) >= shared_ns;
  if (in_parts_) share_out(pieces);
  __atomic_store_n(&remaining_, static_cast<std::uint32_t>(pieces - 1), __ATOMIC_RELAXED);
  std::uint64_t const job = ((job_ >> 16) + 1) << 16 | static_cast<std::uint64_t>(pieces);
  __atomic_store_n(&job_, job, __ATOMIC_SEQ_CST);
  if (is_one_asleep(pieces)) wake_workers(pieces);

  bool const timed = finds_asleep || has_parts;
  if (timed) begin = detail::now_ns();
  run_piece(0, pieces);
  if (timed) lengths_.note(loop, (detail::now_ns() - begin) * pieces);
  for (int i = 1; i < pieces; ++i)
    if (claim(i, job)) {
      run_piece(i, pieces);
      finish_piece();
    }
  await_pieces();
  // The first piece may be the short one.
  if (timed)
    if (std::int64_t const whole = detail::now_ns() - begin; whole > 4 * short_ns) lengths_.note(loop, whole);
  __atomic_store_n(&busy_, 0, __ATOMIC_RELEASE);
}

WEFT_HOT_DECL thread_pool& default_pool() {
  static constinit thread_pool* known = nullptr;
  if (thread_pool* const pool = __atomic_load_n(&known, __ATOMIC_ACQUIRE)) return *pool;
  fork_gate const no_fork;  // in the child of a fork nobody would finish the static that another thread began
  static struct kept {
    thread_pool* pool =
        new thread_pool(threads_of_default_pool());
    // Workers in code that is unmapped would crash. Static objects that are destroyed later still find a pool.
    ~kept() {
      if (library_is_unloaded()) pool->retire();
    }
  } const only;
  __atomic_store_n(&known, only.pool, __ATOMIC_RELEASE);
  return *only.pool;
}

}  // namespace runtime
}  // namespace weft::inline WEFT_ABI
