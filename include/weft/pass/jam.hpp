// Loops of stages that are computed for different iterations of one loop run as one.
#pragma once

#include "weft/ir/ir.hpp"

namespace weft::inline WEFT_ABI {

/// Makes one loop of those of a group (`jam`) that stand one behind the other in a loop, each with what is made before it and of it.
///
///     for r in 0..n:                                            for r in 0..n - 1:
///       if r + 1 < n:                                             acc = -inf
///         acc = -inf                                              for k in 0..m:
///         for k in 0..m jam 1: acc = max(acc, A[r + 1, k])  ->      acc = max(acc, A[r + 1, k])
///         top[(r + 1) % 2] = acc                                    C[r, k] = A[r, k] - top[r % 2]
///       for j in 0..m jam 1: C[r, j] = A[r, j] - top[r % 2]       top[(r + 1) % 2] = acc
///                                                               for r in n - 1..n: as before
///
/// The loops are serial and have one literal extent. What one part writes the others leave alone, which hangs on memory of their own or, where they are of different iterations of the
/// loop around, on its place: `(r + 1) % 2` and `r % 2`. An iteration of the inner loop may read what an earlier part's has written in the same one. Where that cannot be
/// seen the loops stay apart, and so they do in the last iterations, where a part has no more to do. Runs behind `promote`, which takes loops with nothing but accumulates. Cost O(nodes) for
/// programs without such loops, O(accesses^2) of a group.
/// Source  loop fusion, or jamming (Allen and Cocke, A catalogue of optimizing transformations, 1971)
ir::stmt jam(ir::function& f, ir::stmt s);

}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/pass/jam.ipp"
#endif
