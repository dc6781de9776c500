#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "weft/base/error.hpp"
#include "weft/base/fork_gate.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

struct fork_state {
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
  int inside = 0;   // threads that hold a gate
  int forking = 0;  // threads that want to fork, or do
  bool registered = false;
  bool lost = false;  // what threads of the parent held is locked here for ever
  pid_t process = 0;  // whose state this is; 0: nobody's yet; negative: whose it is being made
};
inline constinit fork_state forks{};
inline constinit thread_local int gates_held = 0;

inline void before_fork() {
  ::pthread_mutex_lock(&forks.lock);
  ++forks.forking;
  while (gates_held == 0 && forks.inside > 0) ::pthread_cond_wait(&forks.changed, &forks.lock);
  // Held over the fork, so that the child finds it whole.
}
inline void after_fork_in_parent() {
  --forks.forking;
  ::pthread_cond_broadcast(&forks.changed);
  ::pthread_mutex_unlock(&forks.lock);
}
inline void after_fork_in_child() {
  bool const lost = forks.lost;
  forks = fork_state{};
  forks.lost = lost;
  forks.registered = true;
  forks.inside = gates_held > 0 ? 1 : 0;
  forks.process = ::getpid();
}
/// Makes the state this process' own. A fork that began before the handlers were registered has run none of them, and its
/// child may find `lock` held by a thread of its parent; if one was inside a gate by then, other locks too.
inline void own_forks() {
  pid_t const self = ::getpid();
  for (;;) {
    pid_t owner = __atomic_load_n(&forks.process, __ATOMIC_ACQUIRE);
    if (owner == self) return;
    if (owner == -self) {
      ::sched_yield();
      continue;
    }
    if (!__atomic_compare_exchange_n(&forks.process, &owner, -self, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) continue;
    if (owner != 0) {
      forks.lost = forks.lost || forks.inside > 0;
      forks.lock = PTHREAD_MUTEX_INITIALIZER;
      forks.changed = PTHREAD_COND_INITIALIZER;
      forks.inside = forks.forking = 0;
    }
    if (!forks.registered) ::pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    forks.registered = true;
    __atomic_store_n(&forks.process, self, __ATOMIC_RELEASE);
    return;
  }
}
}  // namespace detail

WEFT_DECL fork_gate::fork_gate() {
  using namespace detail;
  if (gates_held > 0) {
    ++gates_held;
    return;
  }
  own_forks();
  if (forks.lost)
    WEFT_THROW(device_error("this process is the child of a fork that began before its parent's first kernel, which was being "
                            "compiled when the fork happened; call a kernel, or weft::host(), before threads fork"));
  gates_held = 1;
  ::pthread_mutex_lock(&forks.lock);
  while (forks.forking > 0) ::pthread_cond_wait(&forks.changed, &forks.lock);
  ++forks.inside;
  ::pthread_mutex_unlock(&forks.lock);
}
WEFT_DECL fork_gate::~fork_gate() {
  using namespace detail;
  if (--gates_held > 0) return;
  ::pthread_mutex_lock(&forks.lock);
  if (--forks.inside == 0) ::pthread_cond_broadcast(&forks.changed);
  ::pthread_mutex_unlock(&forks.lock);
}

}  // namespace weft::inline WEFT_ABI
