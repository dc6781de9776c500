// The matrix units of NVIDIA's GPUs, for `tensorize`: tiles that a warp multiplies. Optional.
//
// The step names the first of the three innermost axes of a product, rows, columns and terms of a tile, and a loop around them is
// bound to warps. Sums stay in fragments while the loops over k around the tile run. Of wmma, how the elements lie in the lanes is the
// hardware's business, so nothing but whole tiles comes to them: what is to be done with single sums is done by a stage that reads them.
// Of mma each lane knows which sums it has, and a stage may be computed where they are (reverse_compute_inline).
// Integers are exact. Floats are added in an order and with roundings that are NVIDIA's own.
#pragma once

#include "weft/intrinsics.hpp"

namespace weft::inline WEFT_ABI {

namespace detail {
/// Sums of products that are rounded to f16 with each term.
template <int Terms>
inline constexpr auto f16_products = [](auto a, auto b) {
  return compute<"c">(a.extent(0), [=](auto lane) {
    return reduce(f16(0.0f), [](auto so_far, auto term) { return cast<f16>(so_far + term); }, Terms,
                  [=](auto k) { return cast<f16>(a(lane, k) * b(lane, k)); });
  });
};
/// A tile of 16 x 16 sums by the wmma that PTX calls `form`. The bytes are those that a lane has of an operand's tile, and of the sums.
template <fixed_string Name, element A, element B, class Pattern>
consteval intrinsic matrix_unit(Pattern const& pattern, std::string_view form, int operand_bytes, int sum_bytes) {
  intrinsic i = declare_intrinsic<Name, A, B>(pattern, {{"wmma", form, 32}});
  i.scope = "weft::";
  i.rows = i.columns = 16;
  i.operand_bytes = operand_bytes;
  i.sum_bytes = sum_bytes;
  return i;
}
/// The same by two mma.sync of 16 x 8 sums, whose operands come from shared memory by one ldmatrix each.
template <fixed_string Name, element A, element B, class Pattern>
consteval intrinsic mma_unit(Pattern const& pattern, std::string_view form) {
  intrinsic i = declare_intrinsic<Name, A, B>(pattern, {{"mma", form, 32}});
  i.scope = "weft::";
  i.rows = i.columns = 16;
  i.operand_bytes = 16;
  i.has_places = true;
  return i;
}
}  // namespace detail

/// Products of f16, added in f32; 16 terms. `sum(k, cast<float>(A(i, k)) * cast<float>(B(k, j)))`.
inline constexpr intrinsic wmma_f16 = detail::matrix_unit<"wmma_f16", f16, f16>(detail::products<16>, "f16_f32", 32, 32);
/// Products of f16, added in f16: half the registers, and sums are of 11 bits. A stage of f16:
/// `reduce(f16(0.0f), [](auto so_far, auto term) { return cast<f16>(so_far + term); }, K, [=](auto k) { return cast<f16>(A(i, k) * B(k, j)); })`.
inline constexpr intrinsic wmma_f16_in_f16 = detail::matrix_unit<"wmma_f16_in_f16", f16, f16>(detail::f16_products<16>, "f16_f16", 32, 16);
/// Products of bf16, added in f32; 16 terms.
inline constexpr intrinsic wmma_bf16 = detail::matrix_unit<"wmma_bf16", bf16, bf16>(detail::products<16>, "bf16_f32", 16, 32);
/// Products of i8, added in i32; 16 terms.
inline constexpr intrinsic wmma_s8 = detail::matrix_unit<"wmma_s8", std::int8_t, std::int8_t>(detail::products<16>, "s8_s32", 8, 32);
/// Products of u8, added in i32; 16 terms.
inline constexpr intrinsic wmma_u8 = detail::matrix_unit<"wmma_u8", std::uint8_t, std::uint8_t>(detail::products<16>, "u8_s32", 8, 32);
/// Products of f32 that are rounded to 11 bits first, added in f32; 8 terms. Not the bits of f32, and so never taken unasked.
inline constexpr intrinsic wmma_tf32 = detail::matrix_unit<"wmma_tf32", float, float>(detail::products<8>, "tf32_f32", 16, 32);

/// Products of f16, added in f32, by mma.sync m16n8k16; 16 terms.
inline constexpr intrinsic mma_f16 = detail::mma_unit<"mma_f16", f16, f16>(detail::products<16>, "f16_f32");
/// Products of f16, added in f16: the stage of wmma_f16_in_f16.
inline constexpr intrinsic mma_f16_in_f16 = detail::mma_unit<"mma_f16_in_f16", f16, f16>(detail::f16_products<16>, "f16_f16");
/// Products of bf16, added in f32, by mma.sync m16n8k16; 16 terms.
inline constexpr intrinsic mma_bf16 = detail::mma_unit<"mma_bf16", bf16, bf16>(detail::products<16>, "bf16_f32");
/// Products of i8, added in i32, by mma.sync m16n8k32; 32 terms.
inline constexpr intrinsic mma_s8 = detail::mma_unit<"mma_s8", std::int8_t, std::int8_t>(detail::products<32>, "s8_s32");
/// Products of u8, added in i32, by mma.sync m16n8k32; 32 terms.
inline constexpr intrinsic mma_u8 = detail::mma_unit<"mma_u8", std::uint8_t, std::uint8_t>(detail::products<32>, "u8_s32");
/// Products of f32 that are rounded to 11 bits first, by mma.sync m16n8k8; 8 terms. Never taken unasked.
inline constexpr intrinsic mma_tf32 = detail::mma_unit<"mma_tf32", float, float>(detail::products<8>, "tf32_f32");

namespace detail {
inline constexpr intrinsic const* all_matrix_units[] = {&wmma_f16, &wmma_f16_in_f16, &wmma_bf16, &wmma_s8, &wmma_u8, &wmma_tf32,
                                                        &mma_f16,  &mma_f16_in_f16,  &mma_bf16,  &mma_s8,  &mma_u8,  &mma_tf32};
}
/// For parse_trace and ir::parse.
inline constexpr known_intrinsics matrix_units{detail::all_matrix_units, 12};

}  // namespace weft::inline WEFT_ABI
