// What the machine has no instruction for becomes what it has.
#pragma once

#include "weft/ir/ir.hpp"

namespace weft::inline WEFT_ABI {

/// Writes conversions to and from 16-bit floats out as arithmetic on i32, scalars and vectors alike.
///
///     cast<f32>(A[i])  of bf16   ->   bitcast<f32>(cast<i32>(bitcast<u16>(A[i])) << 16i32)
///
/// Those between a half and another type than f32 take their way through f32 first. With `converts_f16` (F16C) the
/// ones between f16 and f32 stay; bf16's are always written out, since vcvtneps2bf16 flushes denormals and LLVM calls
/// functions that no object of ours may name. The bits are those of base/half.hpp, whose definition this pass runs.
/// a * 2^b (op::scaleb) becomes a product with two powers of two, but for vectors of 16, 32 and 64 bytes where the machine
/// `scales` (AVX-512):
///
///     scaleb(p, s - c)   ->   p * bitcast<f32>(h) * bitcast<f32>((w << 23i32) - h)        with w = bitcast<i32>(s),
///                                                                                          h = w << 22i32 & -8388608i32
///
/// Sums of vectors that leave lanes out add -0 there, and what a choice says of lanes that no store stores is not chosen:
///
///     s = select(ramp(0, 1, 8) < 5, fma(x, y, s), s)   ->   s = fma(select(ramp(0, 1, 8) < 5, x, 0), select(ramp(0, 1, 8) < 5, y, -0), s)
///     b = select(m, x, y) where m                      ->   b = x where m
///
/// Runs last on a CPU: `vectorize` must count a conversion by the width of what it converts, and before it is one node to fold
/// and to share. Cost O(nodes), 2 to 20 nodes more for each conversion.
ir::stmt legalise(ir::arena& m, ir::stmt s, bool converts_f16, bool scales = false);

}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/pass/legalise.ipp"
#endif
