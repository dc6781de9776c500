// Math functions as arithmetic: what `expand` puts in their place.
//
// Each is written once, for f32 and f64, in terms of base/op.hpp's elementary operations, so that every executor gives
// the same bits. Where an f32 function would need two numbers for one, it is computed in f64 instead. Polynomials:
// coefficients.hpp. How far each is from the truth: docs/math.md.
#pragma once

#include "weft/expr/program.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

/// Appends the arithmetic for `o` (is_math) on nodes `a` and `b`; returns its last node. `fused`: whether it may use
/// op::fma; without, it takes more operations for the same bound.
/// Cost 10 to 150 nodes
int expand_math(program& to, bool fused, op o, dtype type, int a, int b);
/// 1 + tanh of node `a`.
int expand_one_plus_tanh(program& to, bool fused, dtype type, int a);
/// Whether `n` is 1 + tanh(x), tanh(x) + 1 or 1 - tanh(x): the node of the tanh; -1.
constexpr int tanh_beside_one(program const& p, node const& n) {
  if ((n.kind != op::add && n.kind != op::sub) || !is_float(n.type)) return -1;
  auto const is_one = [&](int id) {
    node const& x = p.at(id);
    return x.kind == op::literal && x.value == (n.type == dtype::f32 ? to_bits(1.0f) : to_bits(1.0));
  };
  if (is_one(n.a) && p.at(n.b).kind == op::tanh) return n.b;
  return n.kind == op::add && is_one(n.b) && p.at(n.a).kind == op::tanh ? n.a : -1;
}
/// Appends `n`, a node of `from` whose nodes are `at` in `to`, where it is x (1 + tanh(a x + b x^3)) or x sigmoid(a x + b x^3), of f32 and
/// with fma, numbers in front or not; else -1.
int expand_gate(program& to, program const& from, node const& n, sequence<std::int32_t> const& at);

}  // namespace detail
}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/expr/math/math.ipp"
#endif
