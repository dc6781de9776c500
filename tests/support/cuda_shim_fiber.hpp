// A thread of cuda_shim.hpp as a stack of its own, and what sanitizers want to know of it.
//
// The switch is a few instructions where we have them: ucontext.h asks the kernel for the signal mask each time, and with it the
// address sanitizer forgets what it knows of a stack. The thread sanitizer sees each fiber as a thread, and of what orders them
// barriers alone (shim_sync): two accesses without a barrier between them are a race, in whichever order they ran.
#pragma once

#include <stddef.h>
#include <stdlib.h>

#if defined(__has_feature)
#define SHIM_HAS(x) __has_feature(x)
#else
#define SHIM_HAS(x) 0
#endif
#if SHIM_HAS(address_sanitizer) || defined(__SANITIZE_ADDRESS__)
#define SHIM_ASAN 1
extern "C" {
void __sanitizer_start_switch_fiber(void** kept, void const* bottom, size_t size);
void __sanitizer_finish_switch_fiber(void* kept, void const** bottom, size_t* size);
void __asan_poison_memory_region(void const volatile* at, size_t bytes);
void __asan_unpoison_memory_region(void const volatile* at, size_t bytes);
}
#else
#define SHIM_ASAN 0
#endif
#if SHIM_HAS(thread_sanitizer) || defined(__SANITIZE_THREAD__)
#define SHIM_TSAN 1
extern "C" {
void* __tsan_get_current_fiber();
void* __tsan_create_fiber(unsigned flags);
void __tsan_destroy_fiber(void* fiber);
void __tsan_switch_to_fiber(void* fiber, unsigned flags);
void __tsan_acquire(void* at);
void __tsan_release(void* at);
void AnnotateIgnoreReadsBegin(char const* file, int line);
void AnnotateIgnoreReadsEnd(char const* file, int line);
void AnnotateIgnoreWritesBegin(char const* file, int line);
void AnnotateIgnoreWritesEnd(char const* file, int line);
}
#else
#define SHIM_TSAN 0
#endif

/// Nor does it hear of calls of these, which do not come back.
#if SHIM_TSAN
#define SHIM_NEVER_SEEN __attribute__((disable_sanitizer_instrumentation))
#else
#define SHIM_NEVER_SEEN
#endif
#if SHIM_ASAN
constexpr unsigned shim_stack = 1024 * 1024;  // frames of attention in blocks take 560 KB by clang 19
#else
constexpr unsigned shim_stack = 256 * 1024;
#endif

/// The thread sanitizer does not look at what the shim itself reads and writes while one of these is there.
struct shim_unseen {
  shim_unseen(shim_unseen const&) = delete;
#if SHIM_TSAN
  shim_unseen() { AnnotateIgnoreReadsBegin(__FILE__, __LINE__), AnnotateIgnoreWritesBegin(__FILE__, __LINE__); }
  ~shim_unseen() { AnnotateIgnoreWritesEnd(__FILE__, __LINE__), AnnotateIgnoreReadsEnd(__FILE__, __LINE__); }
#else
  shim_unseen() {}
  ~shim_unseen() {}
#endif
};
/// What orders the threads of a block. A barrier's number is odd or even, as some threads are behind it before others have left it.
struct shim_sync {
  enum : unsigned { begin = 2, end = 3 };
  static void give(unsigned what) {
#if SHIM_TSAN
    __tsan_release(place(what));
#endif
    (void)what;
  }
  static void take(unsigned what) {
#if SHIM_TSAN
    __tsan_acquire(place(what));
#endif
    (void)what;
  }
  static unsigned barrier(unsigned number) { return number % 2; }

 private:
  static long long* place(unsigned what) {
    static long long places[4];
    return &places[what];
  }
};

#ifdef __x86_64__
struct shim_context {
  void* at = nullptr;
};
/// Leaves what is to survive a call on the stack, and goes on where `to` was left.
extern "C" void shim_switch_stacks(void** from, void* to) __attribute__((visibility("hidden")));
asm(R"(
.text
.type shim_switch_stacks, @function
shim_switch_stacks:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size shim_switch_stacks, . - shim_switch_stacks
)");
SHIM_NEVER_SEEN static inline void shim_switch(shim_context& from, shim_context& to) { shim_switch_stacks(&from.at, to.at); }
static inline void shim_prepare(shim_context& c, unsigned char* stack, void (*entry)()) {
  void** const top = reinterpret_cast<void**>(stack + shim_stack - 16);  // as behind a call from a multiple of 16
  top[0] = reinterpret_cast<void*>(entry);
  for (int i = 1; i <= 6; ++i) top[-i] = nullptr;
  c.at = top - 6;
}
#else
#include <ucontext.h>
struct shim_context {
  ucontext_t at;
};
SHIM_NEVER_SEEN static inline void shim_switch(shim_context& from, shim_context& to) { swapcontext(&from.at, &to.at); }
static inline void shim_prepare(shim_context& c, unsigned char* stack, void (*entry)()) {
  getcontext(&c.at);
  c.at.uc_stack.ss_sp = stack;
  c.at.uc_stack.ss_size = shim_stack;
  c.at.uc_link = nullptr;
  makecontext(&c.at, entry, 0);
}
#endif

struct shim_switchable {
  shim_context at;
  unsigned char* stack = nullptr;
  void *kept = nullptr, *fiber = nullptr;  // the sanitizers'

  void make() {
    stack = static_cast<unsigned char*>(malloc(shim_stack));
#if SHIM_TSAN
    fiber = __tsan_create_fiber(0);
#endif
  }
  void unmake() {
#if SHIM_TSAN
    __tsan_destroy_fiber(fiber);
#endif
    free(stack);
  }
  void begin(void (*entry)()) {
    kept = nullptr;
    shim_prepare(at, stack, entry);
  }
};
static shim_context shim_scheduler;
#if SHIM_ASAN
static void const* shim_scheduler_stack;
static size_t shim_scheduler_size;
#endif
#if SHIM_TSAN
static void* shim_scheduler_fiber;
#endif

/// From the scheduler to a thread, until that leaves.
SHIM_NEVER_SEEN static inline void shim_enter(shim_switchable& to) {
#if SHIM_ASAN
  void* kept = nullptr;
  __sanitizer_start_switch_fiber(&kept, to.stack, shim_stack);
#endif
#if SHIM_TSAN
  shim_scheduler_fiber = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(to.fiber, 1);  // 1: nothing is ordered by it
#endif
  shim_switch(shim_scheduler, to.at);
#if SHIM_ASAN
  __sanitizer_finish_switch_fiber(kept, nullptr, nullptr);
#endif
}
/// What a thread does first, whenever it goes on.
SHIM_NEVER_SEEN static inline void shim_arrived(shim_switchable& now) {
#if SHIM_ASAN
  __sanitizer_finish_switch_fiber(now.kept, &shim_scheduler_stack, &shim_scheduler_size);
#endif
  (void)now;
}
/// From a thread to the scheduler.
SHIM_NEVER_SEEN static inline void shim_leave(shim_switchable& now, bool for_ever) {
#if SHIM_ASAN
  __sanitizer_start_switch_fiber(for_ever ? nullptr : &now.kept, shim_scheduler_stack, shim_scheduler_size);
#endif
#if SHIM_TSAN
  __tsan_switch_to_fiber(shim_scheduler_fiber, 1);
#endif
  (void)for_ever;
  shim_switch(now.at, shim_scheduler);
  shim_arrived(now);
}

// --- memory that is nobody's ------------------------------------------------------------------------------------------
/// Ranges of a launch's shared memory that belong to no array: begins and ends, which shim_gaps sets.
static unsigned const* shim_gap_list = nullptr;
static unsigned shim_gap_count = 0;
extern "C" void shim_gaps(unsigned const* begins_and_ends, unsigned count) { shim_gap_list = begins_and_ends, shim_gap_count = count; }
/// Accesses of these, and from `bytes` up to `limit`, are errors of the address sanitizer.
static inline void shim_fence_off(unsigned char* shared, unsigned bytes, size_t limit) {
#if SHIM_ASAN
  __asan_poison_memory_region(shared + bytes, limit - bytes);
  for (unsigned i = 0; i < shim_gap_count; ++i) __asan_poison_memory_region(shared + shim_gap_list[2 * i], shim_gap_list[2 * i + 1] - shim_gap_list[2 * i]);
#endif
  (void)shared, (void)bytes, (void)limit;
}
static inline void shim_open(unsigned char* from, size_t bytes) {
#if SHIM_ASAN
  __asan_unpoison_memory_region(from, bytes);
#endif
  (void)from, (void)bytes;
}
