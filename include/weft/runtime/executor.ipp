#include <exception>

#include "weft/base/error.hpp"
#include "weft/base/fork_gate.hpp"
#include "weft/base/mutex.hpp"
#include "weft/codegen/launch.hpp"
#include "weft/runtime/executor.hpp"

namespace weft::inline WEFT_ABI {
namespace runtime::detail {
inline std::int64_t now_ns();  // thread_pool.ipp
}
namespace detail {

// Kept for the life of the process, once for each executor that differs, since calls may be under way with any of them.
struct known_executor : loop_runner {
  executor is;
  known_executor* next;
};
inline constinit known_executor* known_executors = nullptr;
inline constinit mutex executors_lock;

// The planner has short loops shared out, since threads of weft's own that are awake are faster; to hand one over to other threads takes longer.
inline constinit runtime::detail::loop_times known_loops;

inline constexpr int most_tasks = 4096;  // of a loop: so many bits lie on the caller's stack

struct executor_loop {
  std::int64_t count;
  int pieces;
  loop_body* body;
  void* context;
  std::int64_t ns = 0;   // that its tasks took
  bool strayed = false;  // some task was asked for again, or does not exist: `stray`
  int stray = 0;
  std::uint64_t begun[most_tasks / 64];  // a bit for each task

  executor_loop(std::int64_t n, int cut_into, loop_body* f, void* c)
      : count(n), pieces(cut_into), body(f), context(c) {
    for (int w = 0; w < words(); ++w) begun[w] = 0;
  }
  int words() const { return (pieces + 63) / 64; }
  int done() const {
    int n = 0;
    for (int w = 0; w < words(); ++w) n += __builtin_popcountll(__atomic_load_n(&begun[w], __ATOMIC_RELAXED));
    return n;
  }
  static void task(void* self, int i) {
    auto& loop = *static_cast<executor_loop*>(self);
    std::uint64_t const bit = std::uint64_t(1) << (static_cast<unsigned>(i) % 64);
    if (i < 0 || i >= loop.pieces || (__atomic_fetch_or(&loop.begun[i / 64], bit, __ATOMIC_RELAXED) & bit) != 0) {
      __atomic_store_n(&loop.stray, i, __ATOMIC_RELAXED);
      __atomic_store_n(&loop.strayed, true, __ATOMIC_RELAXED);
      return;
    }
    std::int64_t const begin = runtime::detail::now_ns();
    loop.body(loop.context, runtime::piece_begin(loop.count, loop.pieces, i),
              runtime::piece_begin(loop.count, loop.pieces, i + 1), i);
    __atomic_fetch_add(&loop.ns, runtime::detail::now_ns() - begin, __ATOMIC_RELAXED);
  }
};
// One call of a kernel. What goes wrong in it waits until the kernel has ended: nothing unwinds through its code.
struct executor_call {
  executor const& with;
  failure* told = nullptr;  // for functions of the program's, which then are not called
  int pieces = 0, done = 0, stray = 0;  // of the loop that was not done as it should be
  bool strayed = false;
#if WEFT_HAS_EXCEPTIONS
  std::exception_ptr thrown{};
#endif

  bool failed() const {
#if WEFT_HAS_EXCEPTIONS
    if (thrown != nullptr) return true;
#endif
    return done != pieces || strayed;
  }
  void run(executor_loop& loop) {
#if WEFT_HAS_EXCEPTIONS
    try {
      with.run(with.context, loop.pieces, executor_loop::task, &loop);
    } catch (...) {
      thrown = std::current_exception();
    }
#else
    with.run(with.context, loop.pieces, executor_loop::task, &loop);
#endif
    pieces = loop.pieces;
    done = loop.done();
    strayed = __atomic_load_n(&loop.strayed, __ATOMIC_RELAXED);
    stray = __atomic_load_n(&loop.stray, __ATOMIC_RELAXED);
    if (told != nullptr && failed()) told->state = 1;
  }
  static void parallel_for(void* self, std::int64_t count, std::int64_t places, loop_body* body, void* context) {
    auto& call = *static_cast<executor_call*>(self);
    if (call.failed() || count <= 0) return;
    int most = call.with.threads > 0 ? call.with.threads : runtime::default_pool().threads();
    if (places < most) most = static_cast<int>(places);
    if (call.with.run == nullptr) return runtime::default_pool().run(count, body, context, most);
    if (most > most_tasks) most = most_tasks;
    executor_loop loop(count, count < most ? static_cast<int>(count) : most, body, context);
    if (loop.pieces == 1) return body(context, 0, count, 0);
    std::uint64_t const key = runtime::detail::loop_times::key(body, count);
    std::int64_t const known = known_loops.of(key);
    if (known > 0 && known < runtime::thread_pool::short_ns) {
      std::int64_t const begin = runtime::detail::now_ns();
      body(context, 0, count, 0);
      return known_loops.note(key, runtime::detail::now_ns() - begin);
    }
    call.run(loop);
    if (!call.failed()) known_loops.note(key, __atomic_load_n(&loop.ns, __ATOMIC_RELAXED));
  }
};
inline std::int32_t call_by_executor(loop_runner const& self, kernel_entry entry, launch const& l) {
  executor_call call{static_cast<known_executor const&>(self).is, l.failed};
  services const mine{executor_call::parallel_for, &call, l.host->report};
  launch own = l;
  own.host = &mine;
  std::int32_t const status = entry(&own);
#if WEFT_HAS_EXCEPTIONS
  if (call.thrown != nullptr) std::rethrow_exception(call.thrown);
#endif
  if (call.failed())
    WEFT_THROW(device_error("the executor's run did " + std::to_string(call.done) + " of " +
                            std::to_string(call.pieces) + " tasks" +
                            (!call.strayed                                 ? std::string()
                             : call.stray >= 0 && call.stray < call.pieces ? ", " + std::to_string(call.stray) + " again"
                                 : ", and there is no " + std::to_string(call.stray)) +
                            "; it must call each index from 0 once, and return after the last one"));
  return status;
}
}  // namespace detail

WEFT_DECL executor set_executor(executor const& e) {
  using namespace detail;
  if (e.threads < 0)
    WEFT_THROW(
        argument_error("set_executor: " + std::to_string(e.threads) +
                       " threads; give the number of tasks that a loop is cut into, or 0 for the machine's threads"));
  fork_gate const no_fork;
  weft::guard const hold(executors_lock);
  auto const* const before = static_cast<known_executor const*>(__atomic_load_n(&chosen_runner, __ATOMIC_RELAXED));
  known_executor* chosen = known_executors;
  while (chosen != nullptr && !(chosen->is == e)) chosen = chosen->next;
  bool const is_own = e == executor{};
  if (chosen == nullptr && !is_own)
    chosen = known_executors = new known_executor{{call_by_executor, e.threads, e.run == nullptr}, e, known_executors};
  known_loops.forget();
  __atomic_store_n(&chosen_runner, is_own ? nullptr : chosen, __ATOMIC_RELEASE);
  return before == nullptr ? executor{} : before->is;
}

}  // namespace weft::inline WEFT_ABI
