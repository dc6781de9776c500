// The matrix units of NVIDIA's GPUs, for `tensorize`: tiles that a warp multiplies. Optional.
//
// The step names the first of the three innermost axes of a product, rows, columns and terms of a tile, and a loop around them is
// bound to warps. Sums stay in fragments while the loops over k around the tile run. Of wmma, how the elements lie in the lanes is the
// hardware's business, so nothing but whole tiles comes to them: what is to be done with single sums is done by a stage that reads them.
// Of mma each lane knows which sums it has, and a stage may be computed where they are (reverse_compute_inline).
// Of wgmma too, which four warps do together, straight from shared memory, on GPUs of sm_90 alone.
// Integers are exact. Floats are added in an order and with roundings that are NVIDIA's own.
#pragma once

#include "weft/schedule/instructions.hpp"

namespace weft::inline WEFT_ABI {

namespace detail {
/// A tile of 16 x 16 sums by the wmma that PTX calls `form`. The bytes are those that a lane has of an operand's tile, and of the sums.
template <dtype Operands, dtype Sums, int Terms>
constexpr intrinsic matrix_unit(std::string_view name, std::string_view form, int operand_bytes, int sum_bytes) {
  intrinsic i = products_by<Operands, Operands, Sums, Terms>(name);
  i.forms[0] = {"wmma", form, 32};
  i.rows = i.columns = 16;
  i.operand_bytes = operand_bytes;
  i.sum_bytes = sum_bytes;
  return i;
}
/// The same by two mma.sync of 16 x 8 sums, whose operands come from shared memory by one ldmatrix each.
template <dtype Operands, dtype Sums, int Terms>
constexpr intrinsic mma_unit(std::string_view name, std::string_view form) {
  intrinsic i = products_by<Operands, Operands, Sums, Terms>(name);
  i.forms[0] = {"mma", form, 32};
  i.rows = i.columns = 16;
  i.operand_bytes = 16;
  i.has_places = true;
  return i;
}
/// The same by four warps: wgmma.mma_async of 64 rows, whose operands stay in shared memory.
template <dtype Operands>
constexpr intrinsic wgmma_unit(std::string_view name, std::string_view form) {
  intrinsic i = mma_unit<Operands, dtype::f32, 16>(name, form);
  i.forms[0].feature = "wgmma";
  return i;
}
}  // namespace detail

/// Products of f16, added in f32; 16 terms. `sum(k, cast<float>(A(i, k)) * cast<float>(B(k, j)))`.
inline constexpr intrinsic wmma_f16 = detail::matrix_unit<dtype::f16, dtype::f32, 16>("wmma_f16", "f16_f32", 32, 32);
/// Products of f16, added in f16: half the registers, and sums are of 11 bits. A stage of f16:
/// `reduce(f16(0.0f), [](auto so_far, auto term) { return cast<f16>(so_far + term); }, K, [=](auto k) { return cast<f16>(A(i, k) * B(k, j)); })`.
inline constexpr intrinsic wmma_f16_in_f16 = detail::matrix_unit<dtype::f16, dtype::f16, 16>("wmma_f16_in_f16", "f16_f16", 32, 16);
/// Products of bf16, added in f32; 16 terms.
inline constexpr intrinsic wmma_bf16 = detail::matrix_unit<dtype::bf16, dtype::f32, 16>("wmma_bf16", "bf16_f32", 16, 32);
/// Products of i8, added in i32; 16 terms.
inline constexpr intrinsic wmma_s8 = detail::matrix_unit<dtype::i8, dtype::i32, 16>("wmma_s8", "s8_s32", 8, 32);
/// Products of u8, added in i32; 16 terms.
inline constexpr intrinsic wmma_u8 = detail::matrix_unit<dtype::u8, dtype::i32, 16>("wmma_u8", "u8_s32", 8, 32);
/// Products of f32 that are rounded to 11 bits first, added in f32; 8 terms. Not the bits of f32, and so never taken unasked.
inline constexpr intrinsic wmma_tf32 = detail::matrix_unit<dtype::f32, dtype::f32, 8>("wmma_tf32", "tf32_f32", 16, 32);

/// Products of f16, added in f32, by mma.sync m16n8k16; 16 terms.
inline constexpr intrinsic mma_f16 = detail::mma_unit<dtype::f16, dtype::f32, 16>("mma_f16", "f16_f32");
/// Products of f16, added in f16: the stage of wmma_f16_in_f16.
inline constexpr intrinsic mma_f16_in_f16 = detail::mma_unit<dtype::f16, dtype::f16, 16>("mma_f16_in_f16", "f16_f16");
/// Products of bf16, added in f32, by mma.sync m16n8k16; 16 terms.
inline constexpr intrinsic mma_bf16 = detail::mma_unit<dtype::bf16, dtype::f32, 16>("mma_bf16", "bf16_f32");
/// Products of i8, added in i32, by mma.sync m16n8k32; 32 terms.
inline constexpr intrinsic mma_s8 = detail::mma_unit<dtype::i8, dtype::i32, 32>("mma_s8", "s8_s32");
/// Products of u8, added in i32, by mma.sync m16n8k32; 32 terms.
inline constexpr intrinsic mma_u8 = detail::mma_unit<dtype::u8, dtype::i32, 32>("mma_u8", "u8_s32");
/// Products of f32 that are rounded to 11 bits first, by mma.sync m16n8k8; 8 terms. Never taken unasked.
inline constexpr intrinsic mma_tf32 = detail::mma_unit<dtype::f32, dtype::f32, 8>("mma_tf32", "tf32_f32");

/// Products of f16, added in f32, by wgmma m64nNk16 of sm_90a (H100, H200): four warps, each with 16 rows and all N columns of a block, N a multiple of 16 up to 256. Both operands
/// are copies in shared memory, swizzled, with rows of 64 elements: of A the terms; of B the terms, or 64 columns: transform_layout(copy, dims(j / 64, k, j % 64)).
inline constexpr intrinsic wgmma_f16 = detail::wgmma_unit<dtype::f16>("wgmma_f16", "f16_f32");
/// Products of bf16 likewise.
inline constexpr intrinsic wgmma_bf16 = detail::wgmma_unit<dtype::bf16>("wgmma_bf16", "bf16_f32");

namespace detail {
inline constexpr intrinsic const* all_matrix_units[] = {&wmma_f16, &wmma_f16_in_f16, &wmma_bf16, &wmma_s8, &wmma_u8, &wmma_tf32,
                                                        &mma_f16,  &mma_f16_in_f16,  &mma_bf16,  &mma_s8,  &mma_u8,  &mma_tf32,
                                                        &wgmma_f16, &wgmma_bf16};
}
/// For parse_trace and ir::parse.
inline constexpr known_intrinsics matrix_units{detail::all_matrix_units, 14};

}  // namespace weft::inline WEFT_ABI
