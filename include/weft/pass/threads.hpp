// Loops over threads move out to where a GPU has its threads: around all that a block does.
#pragma once

#include "weft/ir/ir.hpp"

namespace weft::inline WEFT_ABI {

/// Makes each statement of the body that has loops over blocks or threads the program of one launch: blocks, then the memory
/// that a block shares, then threads, of which there are as many as the longest loop over each axis wants.
///
///     for b in 0..8 block_x:                      for b in 0..8 block_x:
///       allocate row:                               allocate row:
///         for i in 0..64 thread_x:        ->          for tx in 0..64 thread_x:
///           row[i] = ..                                 row[tx] = ..
///         for j in 0..32 thread_x:                      barrier
///           .. row[j + 1] ..                            if tx < 32: .. row[tx + 1] ..
///                                                       barrier
///
/// What stands inside fewer axes is done by the first thread of the others. Warps and lanes are parts of the x axis, 32 side
/// by side. Loops and branches with loops over threads inside are the same for all threads of a block afterwards: where a
/// branch is not, it is repeated at each statement. Memory of the workspace needs no allocate any more. Behind each loop over
/// threads is a barrier, of which `needed_barriers` keeps those that matter.
///
/// A reduction along a loop over thread_x or lanes is joined in a tree: what each thread has met goes from thread to thread
/// inside a warp, and through shared memory between warps; the first thread stores it.
///
///     for v in 0..64 thread_x:                    part = 0; part += X[tx]
///       accumulate R[] = self + X[v]      ->      exchange other = part across 16; part += other      (8, 4, 2, 1)
///         from 0 first [v]                        if tx % 32 == 0: R_warps[tx // 32] = part
///                                                 barrier
///                                                 part = 0; if tx % 32 < 2: part = R_warps[tx % 32]
///                                                 exchange other = part across 1; part += other
///                                                 if tx == 0: R[] = part
///
/// Runs after `simplify` and in front of `vectorize` and `unroll`. Errors: schedule_error, in words, for what one launch cannot
/// do: blocks inside serial loops or beside other statements, loops around threads that are not as long for each of them.
ir::stmt spread_threads(ir::function& f, ir::stmt body);

/// Keeps in a thread's own memory what a loop over threads' parts of a reduction comes back to.
///
///     for ko in 0..8:                            allocate sum: f32[4]:
///       tile[..] = ..                              for r in 0..4: sum[r] = 0
///       for ki: for r in 0..4:           ->        for ko in 0..8:
///         accumulate C[tx, r] first [ko, ki]         tile[..] = ..
///                                                    for ki: for r: accumulate sum[r]
///                                                  for r in 0..4: C[tx, r] = sum[r]
///
/// The identity in front: chosen in the loop, by whether an iteration is the first, it was 64 of 1,132 instructions of a product's inner loop
/// on sm_90, and their latency (4096^3 by 128 x 128 x 16: 39.9 TFLOP/s on an H100).
/// Taken where nothing else in the loop touches the memory, and its elements are the same in each iteration: at most 256.
/// Runs after `spread_threads`; `promote` does the rest. Cost O(nodes * depth).
ir::stmt own_sums(ir::function& f, ir::stmt s);

}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/pass/threads.ipp"
#endif
