// Forks wait for whoever compiles.
#pragma once

#include "weft/config.hpp"

namespace weft::inline WEFT_ABI {

/// While one of these lives, no other thread's fork happens; a fork under way delays it.
///
/// The child of a fork has only the thread that forked. A lock that another thread held, in weft, in LLVM or in the
/// unwinder, would be locked there for ever, so what takes such locks goes through here. A fork thus waits until the
/// compilations under way have ended, however long they take; none begins meanwhile. A thread that forks inside of its
/// own compilation, from a lambda, waits for nobody: its child may use weft only if no other thread was compiling.
///
/// Errors   device_error in the child of a fork that other threads' first gate came too late for: it began before, and they
///          were inside when it happened
/// Threads  any; one may hold several
/// Cost     70 ns
class fork_gate {
 public:
  fork_gate();
  ~fork_gate();
  fork_gate(fork_gate const&) = delete;
  fork_gate& operator=(fork_gate const&) = delete;
};

}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/base/fork_gate.ipp"
#endif
