// Vectors become single values, for machines whose threads are the lanes.
#pragma once

#include "weft/ir/ir.hpp"

namespace weft::inline WEFT_ABI {

/// Writes vector code out lane by lane.
///
///     acc = acc + A[ramp(i, 1, 4)]     ->     acc[0] = acc[0] + A[i]; .. acc[3] = acc[3] + A[i + 3]
///
/// A vector register becomes memory of the thread's own, of which each index is a number. Runs after `promote` (which keeps
/// whole vectors in registers) and in front of `wide_accesses`. Cost O(nodes * lanes).
ir::stmt single_lanes(ir::function& f, ir::stmt s);

/// Loads and stores side by side become one access of 16 bytes, or of 8 or 4, through a thread's own memory.
///
///     C[4 * i] = A[4 * i] + 1                    in[0:4] = A[4 * i : 4 * i + 4]
///     ..                                 ->      out[0] = in[0] + 1; .. out[3] = in[3] + 1
///     C[4 * i + 3] = A[4 * i + 3] + 1            C[4 * i : 4 * i + 4] = out[0:4]
///
/// What hangs on one condition is written inside of one branch on it, and read into a row of zeros:
///
///     C[4 * i] = 1 where c                       if c:
///     ..                                 ->        C[4 * i : 4 * i + 4] = out[0:4]
///     C[4 * i + 3] = 1 where c
///
/// Asynchronous stores side by side become one in the same way, without that memory, and what is left of them in less than 4 bytes
/// a plain store. Taken for stores that follow each other without masks or with the same one, where the alignment of the memory and all strides
/// say that the address is a multiple of the width. What is read stays what it was: nothing that the stores in between may write is read
/// earlier. Runs after `single_lanes` and `simplify`. Cost O(nodes^2) for each such row of stores.
ir::stmt wide_accesses(ir::function& f, ir::stmt s);

}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/pass/lanes.ipp"
#endif
