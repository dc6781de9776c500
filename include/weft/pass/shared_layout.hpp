// Where in a block's shared memory each of its buffers begins.
#pragma once

#include "weft/ir/ir.hpp"

namespace weft::inline WEFT_ABI {

/// Gives each buffer that a block shares its place (function::shared_at). Two that are never needed at the same time have the
/// same bytes, where memory could be what keeps blocks from a processor: beyond 64 bytes for each thread, as the least that a
/// processor has is 100 KiB for 1536 threads.
///
///     allocate a: f32[4096]:                     a at 0
///       allocate b: f32[4096]:          ->       b at 16384
///         allocate c: f32[2048]:                 c at 0
///           a is written, b of a, c of b
///
/// A buffer is needed from its first to its last access, and all of each loop that is around one of them, up to the loop in an
/// iteration of which it was allocated. Between two that have the same bytes stands a barrier: `needed_barriers` takes accesses to
/// both as ones to the same memory; a sixteenth of all bytes is the least that is worth one. What would cost a barrier more in a loop is done only where more blocks then have room in 100 KiB.
///
/// Runs in front of `needed_barriers`, when barriers still stand behind all loops over threads: in between nobody may wait.
/// Cost   that of needed_barriers three times at most, and O(buffers^2)
/// Source Poletto and Sarkar, Linear Scan Register Allocation, TOPLAS 1999 (lives as intervals); TVM, MergeSharedMemoryAllocations
void lay_out_shared(ir::function& f, ir::stmt body);

}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/pass/shared_layout.ipp"
#endif
