// Math functions as arithmetic: what `expand` puts in their place.
//
// Each is written once, for f32 and f64, in terms of base/op.hpp's elementary operations, so that every executor gives
// the same bits. Where an f32 function would need two numbers for one, it is computed in f64 instead. Polynomials:
// coefficients.hpp. How far each is from the truth: docs/math.md.
#pragma once

#include "weft/expr/math/tanh_step.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

/// Appends the arithmetic for `o` (is_math) on nodes `a` and `b`; returns its last node. `fused`: whether it may use
/// op::fma; without, it takes more operations for the same bound.
/// Cost 10 to 150 nodes
int expand_math(program& to, bool fused, op o, dtype type, int a, int b);
/// 1 + tanh of node `a`.
int expand_one_plus_tanh(program& to, bool fused, dtype type, int a);
/// Appends `n`, a node of `from` whose nodes are `at` in `to`, where it is x (1 + tanh(a x + b x^3)) or x sigmoid(a x + b x^3), of f32 and
/// with fma, numbers in front or not; else -1.
int expand_gate(program& to, program const& from, node const& n, sequence<std::int32_t> const& at);

}  // namespace detail
}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/expr/math/math.ipp"
#endif
