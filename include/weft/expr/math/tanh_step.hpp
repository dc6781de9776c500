// Where a program has a smooth step: what `expand` writes as one function, alone and times a number (gate.hpp).
#pragma once

#include "weft/expr/program.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

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

}  // namespace detail
}  // namespace weft::inline WEFT_ABI
