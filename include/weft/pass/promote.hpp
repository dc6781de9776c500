// Accumulators move into registers, and accumulate statements into plain loads and stores.
#pragma once

#include "weft/ir/ir.hpp"

namespace weft::inline WEFT_ABI {

/// Keeps in a register every element that a reduction loop comes back to, then lowers what is left.
///
///     for k in 0..n:                                 acc = C[0:16] unless first, else 0
///       accumulate C[0:16] = ..self..       ->       for k in 0..n:
///                                                      acc = ..acc..
///                                                    C[0:16] = acc
///
/// A loop is taken when nothing but accumulates stands in it, their targets do not move with it or with a loop
/// inside it, and none of them reads the memory that another one writes; of a branch, both ways lead to the same
/// targets. Several updates of one element (an unrolled reduction) stay apart in registers, in the order of the schedule
/// or, where fewer of the values that they read are live then, element by element; in memory they become one.
///
///     for t in 0..n:                                 acc = C[t - 1], t at its begin, unless first, else 0
///       accumulate C[t] after C[t - 1]       ->      for t in 0..n:
///                                                      acc = ..acc..
///                                                      C[t] = acc
///
/// A loop of a scan is taken when nothing but its accumulates stands in it, no loop either, and each of them comes after the
/// one in front of it or after the last one of the iteration before. Runs after `unroll`, which makes targets constant, and before code
/// generation, which meets no accumulate any more. Cost O(nodes + accumulators * accumulators).
ir::stmt promote(ir::function& f, ir::stmt s);

}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/pass/promote.ipp"
#endif
