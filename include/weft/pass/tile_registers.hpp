// What a CPU's matrix unit does with tiles: sums and operands get tile registers.
#pragma once

#include "weft/ir/ir.hpp"

namespace weft::inline WEFT_ABI {

/// Keeps the sums of a product's tiles in fragments while its loops run, and loads the operands into others.
///
///     for k in 0..n:                                           fill: c = 0                    (C, but in the first iteration of what is around)
///       tile multiply: C[0..16, 0..16] += A * B        ->      for k in 0..n:
///                                                                load_a: a = A[0..16, k]
///                                                                load_b: b = B[k, 0..16]
///                                                                multiply: c += a * b
///                                                              store: C[0..16, 0..16] = c
///
/// A fragment is an array on the stack that nothing but tiles touches; the code generator makes a register of it, of which there are eight. Tiles behind each other share
/// the operands that they have in common. Runs after `unroll`, so that the tiles of an iteration stand behind each other, and in front of `promote`.
///
/// Where rows are not known to be the same distance apart, the loops stay loops.
///
/// Errors  schedule_error: operands that are not laid out for the unit, or have its two types in the other order; something else in the loops around a tile's terms; more tiles of sums than six
ir::stmt tile_registers(ir::function& f, ir::stmt body);

}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/pass/tile_registers.ipp"
#endif
