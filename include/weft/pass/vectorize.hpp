// Vectorized loops become vectors.
#pragma once

#include "weft/ir/ir.hpp"

namespace weft::inline WEFT_ABI {

/// Replaces each vectorized loop by an unrolled loop over chunks of as many lanes as the machine has.
///
///     for j in 0..43 vectorized:          for jv in 0..3 unrolled:
///       C[j] = A[j] * s            ->       C[ramp(jv*16, 1, 16)] = A[ramp(..)] * broadcast(s) where ramp(..) < 43
///
/// The lanes of a chunk are vector_bytes over the widest element in the loop; where the last one has half of them or less, it is a shorter
/// vector, of 16 bytes at least. Runs before `unroll`, which
/// turns the chunks into separate vectors and finds the masks that always hold. Needs extents that are numbers.
ir::stmt vectorize(ir::function& f, ir::stmt s, int vector_bytes);

}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/pass/vectorize.ipp"
#endif
