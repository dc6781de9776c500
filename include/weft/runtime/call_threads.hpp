// How many threads the parallel loops of calls have.
#pragma once

#include "weft/config.hpp"

namespace weft::inline WEFT_ABI {

/// In how many pieces a parallel loop of a call is cut at most: as the executor says, else WEFT_THREADS, else one for each thread of the machine.
///
/// Cost  a look at the environment
int threads_of_calls();
/// How many of them the machine has a processor for: what its peaks are measured with.
int working_threads();

namespace runtime {
/// Of one pool.
inline constexpr int most_threads = 1024;
/// How many the pool of the process has, or will have when it is made.
int threads_of_default_pool();
}  // namespace runtime

}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/runtime/call_threads.ipp"
#endif
