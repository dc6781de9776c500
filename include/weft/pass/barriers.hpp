// Where the threads of a block have to wait for each other.
#pragma once

#include "weft/ir/ir.hpp"

namespace weft::inline WEFT_ABI {

/// Keeps of the barriers behind all loops over threads, which `spread_threads` has put there, those that are needed, as far
/// out as they can be: in front of what touches what another thread of the block may have touched since the last one, one of
/// the two writing. What was written is read, what was read is written again.
///
///     for ko in 0..8:                    for ko in 0..8:
///       tile[ty, tx] = A[..]               barrier
///       barrier                      ->    tile[ty, tx] = A[..]
///       for ki: sum += tile[ty, ki]        barrier
///       barrier                            for ki: sum += tile[ty, ki]
///
/// Two buffers that have bytes of shared memory in common (function::shared_at) are the same memory here.
/// An access whose indices tell the thread (`tile[ty, tx]`, `C[ty * 4 + r]`, the first thread alone) touches only what that
/// thread touches by accesses of the same form. Within one loop over threads nobody waits: its iterations are independent.
/// Runs last, after all that moves statements; the interpreter judges what is left. Cost O(nodes * depth + accesses^2) for each
/// launch.
ir::stmt needed_barriers(ir::function& f, ir::stmt body);

}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/pass/barriers.ipp"
#endif
