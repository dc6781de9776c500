// The small functions that a kernel's text calls where plain C++ would leave a result open.
//
// They give integers that wrap, divisions without exceptions and float arithmetic that no compiler contracts.
// Only those that a kernel calls are printed in front of it. They use nothing but CUDA's own intrinsics, so that
// a host shim which defines these runs the very same text.
#pragma once

#include <string>

#include "weft/base/op.hpp"

namespace weft::inline WEFT_ABI {
namespace cuda_text {

struct prelude_function {
  std::string name, definition;  // an empty name: the operation means nothing on this type
};

/// The function for `kind` on operands of `type`; for op::cast, from a float `type` to an integer `to`.
///
///     add, f32  ->  static __device__ __forceinline__ float weft_add_f32(float a, float b) {
///                     return __fadd_rn(a, b);
///                   }
///
/// Source  CUDA C++ Programming Guide: __fadd_rn and __fmul_rn are never merged into a multiply-add
prelude_function prelude(op kind, dtype type, dtype to = dtype::boolean);

/// A type of `lanes` elements side by side, aligned to their size, as which rows of memory are copied.
///
///     f32, 4  ->  struct __align__(16) weft_f32x4 { float e0, e1, e2, e3; };
prelude_function row_type(dtype type, int lanes);

/// How functions of the user's see tensors: `weft_view<T, Rank>`, as extern_view is for the host's.
prelude_function view_type();

/// From f16 to f32, or from f32 to f16: one instruction of the GPU's, rounded as base/half.hpp says. A text for the host calls the shim's.
prelude_function f16_conversion(dtype to);

/// What the thread of the same warp whose number differs in the bits of `distance` gives as `a`. All of a warp call it together.
///
///     f32  ->  static __device__ __forceinline__ float weft_exchange_f32(float a, int distance) {
///                return __shfl_xor_sync(0xffffffffu, a, distance);
///              }
prelude_function exchange_function(dtype type);

}  // namespace cuda_text
}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/codegen/cuda/prelude.ipp"
#endif
