// The matrix units of NVIDIA's GPUs as prelude functions: wmma of PTX, fragments opaque.
#pragma once

#include "weft/codegen/cuda/prelude.hpp"
#include "weft/ir/ir.hpp"

namespace weft::inline WEFT_ABI {
namespace cuda_text {

/// One shape with its types, as PTX has it.
struct matrix_form {
  std::string_view name, shape, operand, sum, types;  // m16n16k16, f16, f32, and those that stand behind the instruction's name
  std::int32_t operand_words = 0, sum_words = 0;      // of 4 bytes, that a lane has of a tile
  bool float_sum = true;                              // in registers for floats
};
/// That of an intrinsic. Errors: internal_error for one that is none of those known.
matrix_form const& matrix_form_of(intrinsic const& unit);

/// `weft_wmma_f16_f32_a`, .. `_b` or .. `_c`: what a lane has of a tile.
prelude_function fragment_type(matrix_form const& f, char which);
/// What does it with fragments; layouts of the operands, or of the matrix in memory.
///
///     weft_wmma_f16_f32_fill(c, x)        weft_wmma_f16_f32_load_a_row(a, p, stride)
///     weft_wmma_f16_f32_multiply_row_col(c, a, b)       weft_wmma_f16_f32_store_row(p, c, stride)
///
/// shared: a load from memory that a block shares, of rows that begin at multiples of 16 bytes, which ptxas does not find out by itself: of an address of any memory it loads single words, 64 in
/// the place of 16 ldmatrix for a step of 64 x 64 sums.
prelude_function tile_function(matrix_form const& f, ir::tile_role role, bool row, bool second_row = true, bool shared = false);

}  // namespace cuda_text
}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/codegen/cuda/matrix.ipp"
#endif
