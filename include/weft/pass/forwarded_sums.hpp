// Sums that nobody but their thread goes on with need no memory between.
#pragma once

#include "weft/ir/ir.hpp"

namespace weft::inline WEFT_ABI {

/// Where a thread stores its sums and the same thread, in loops of the same lengths, reads the same elements of them, it reads what
/// it has; memory that nobody reads any more goes.
///
///     for ko: .. own[r] += ..                                for ko: .. own[r] += ..
///     for r in 0..4: S[tx * 4 + r] = own[r]            ->
///     for r in 0..4: C[i + tx * 4 + r] = f(S[tx * 4 + r])     for r in 0..4: C[i + tx * 4 + r] = f(own[r])
///
/// Of a matrix unit the loops over a tile are the same, too. Runs after own_sums, while loops are not written out yet. Where it finds
/// something else it leaves all as it is: then sums go through shared memory.
ir::stmt forwarded_sums(ir::function& f, ir::stmt body);

}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/pass/forwarded_sums.ipp"
#endif
