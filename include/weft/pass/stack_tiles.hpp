// Small memory on the stack moves into registers.
#pragma once

#include "weft/ir/ir.hpp"

namespace weft::inline WEFT_ABI {

/// Keeps in registers the memory on the stack of which each access is known by now:
///
///     allocate acc: f32[2, 16]:                   acc0, acc1 = ..
///       acc[0, 0:16] = ..; acc[1, 0:16] = ..  ->  C[i, j:j + 16] = acc0
///       C[i, j:j + 16] = acc[0, 0:16] ..          C[i + 1, ..] = acc1
///
/// Taken when all indices are literals, no two accesses overlap without being the same elements, there are no more than
/// 64 different ones, and none stands in a parallel loop. Runs after `promote`, which makes one store of each element
/// that a reduction comes back to. Cost O(nodes) for each allocate
ir::stmt stack_tiles(ir::function& f, ir::stmt s);

}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/pass/stack_tiles.ipp"
#endif
