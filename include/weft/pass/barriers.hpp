// Where the threads of a block have to wait for each other.
#pragma once

#include "weft/ir/ir.hpp"

namespace weft::inline WEFT_ABI {

/// Puts a barrier in front of each statement that touches what another thread of the block may have touched since the last one,
/// one of the two writing: what was written is read, what was read is written again.
///
///     for ko in 0..8:                    for ko in 0..8:
///       tile[ty, tx] = A[..]               barrier
///       for ki: sum += tile[ty, ki]  ->    tile[ty, tx] = A[..]
///                                          barrier
///                                          for ki: sum += tile[ty, ki]
///
/// An access whose indices tell the thread (`tile[ty, tx]`, `C[ty * 4 + r]`, the first thread alone) touches only what that
/// thread touches by accesses of the same form. Barriers stand in loops and branches that are the same for all threads, as
/// far out as they can. Runs last, after `spread_threads` and all that moves statements; the interpreter judges what it has
/// made. Cost O(nodes * depth + accesses^2) for each launch.
ir::stmt add_barriers(ir::function& f, ir::stmt body);

}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/pass/barriers.ipp"
#endif
