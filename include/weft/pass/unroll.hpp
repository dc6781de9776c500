// Unrolled loops are written out, and jammed into the loops inside them.
#pragma once

#include "weft/ir/ir.hpp"

namespace weft::inline WEFT_ABI {

/// Replaces each unrolled loop by copies of its body.
///
///     for i in 0..2 unrolled:             for k in 0..n:
///       for k in 0..n:             ->       C[0] += A[0, k]
///         C[i] += A[i, k]                   C[1] += A[1, k]
///
/// Copies go inside a loop whose bounds do not depend on the unrolled variable, unless both belong to one
/// reduction: that would change the order of its terms. Runs after `vectorize`, whose chunks it writes out,
/// and before `promote`, which needs to see the whole tile. Cost O(nodes * iterations).
ir::stmt unroll(ir::arena& m, ir::stmt s);

}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/pass/unroll.ipp"
#endif
