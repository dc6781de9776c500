// The matrix units of NVIDIA's GPUs as prelude functions: mma.sync and ldmatrix of PTX, each lane's elements in known places.
//
// Only what PTX does is behind __CUDA_ARCH__, beside a call of the shim's. Where a lane reads and what it stores is plain text, which
// the host runs too.
#pragma once

#include "weft/codegen/cuda/prelude.hpp"
#include "weft/ir/ir.hpp"

namespace weft::inline WEFT_ABI {
namespace cuda_text {

/// A tile of 16 x 16 sums as two instructions of 16 x 8, which share the left operand.
struct mma_form {
  std::string_view name, shape, types;  // f16_f32, m16n8k16, and what stands behind the layouts in the instruction's name
  dtype operand = dtype::f16, sum = dtype::f32;
  std::int32_t terms = 16;
  /// Elements in a register of 32 bits.
  std::int32_t packed() const { return 4 / size_bytes(operand); }
  std::int32_t sum_words() const { return sum == dtype::f16 ? 4 : 8; }
};
/// That of an intrinsic. Errors: internal_error for one that is none of those known.
mma_form const& mma_form_of(intrinsic const& unit);
/// Whether ldmatrix can load it: what lies side by side in memory are the terms, or elements of 16 bits, which it turns.
inline bool fits_ldmatrix(mma_form const& f, bool terms_side_by_side) { return terms_side_by_side || f.packed() == 2; }

/// `weft_mma_f16_f32_a`, .. `_b` or .. `_c`: what a lane has of a tile, four registers of operands.
///
///     a   x[r] has row lane / 4 + 8 (r % 2) and the terms from (lane % 4) packed + terms / 2 (r / 2) on
///     b   x[r] has column lane / 4 + 8 (r / 2) and the terms from (lane % 4) packed + terms / 2 (r % 2) on
///     c   x[2 p], x[2 p + 1] are the sums at weft_mma_row(p), weft_mma_column(p) and beside it
///
/// Source  PTX ISA, matrix fragments for mma.m16n8k8, m16n8k16, m16n8k32
prelude_function mma_fragment(mma_form const& f, char which);
/// Where the first element of pair `p` of a lane's sums stands in the tile: weft_mma_row and weft_mma_column.
prelude_function mma_place();
/// Four matrices of 8 rows of 16 bytes, of which each lane gives the address of one row; each register of 32 bits has what lies at
/// place lane % 4 of row lane / 4. turned: 16 bits each, of rows 2 (lane % 4) and the next, at place lane / 4.
/// Source  PTX ISA, ldmatrix
prelude_function ldmatrix(bool turned);
/// What does it with fragments.
///
///     weft_mma_f16_f32_fill(c, x)                    weft_mma_f16_f32_load_a(a, p, row stride, stride of terms)
///     weft_mma_f16_f32_multiply(c, a, b)             weft_mma_f16_f32_ldmatrix_a_row(a, p, stride)
///
/// loads: `by_ldmatrix` from shared memory, of which rows, or columns, begin at multiples of 16 bytes; else from anywhere. Of
/// swizzled rows, weft_mma_f16_f32_ldmatrix_a_row_swizzled_2x4(a, p, row, column, stride): `p` is where the first row begins, `row` its number.
prelude_function mma_function(mma_form const& f, ir::tile_role role, bool by_ldmatrix = false, bool row = true, ir::swizzle const& z = {});

}  // namespace cuda_text
}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/codegen/cuda/mma.ipp"
#endif
