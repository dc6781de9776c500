// What all executors agree on before any of them starts: math functions become arithmetic, 1 + tanh(x) and gelu by tanh among them,
// and a * b + c becomes fma or stays two roundings.
#pragma once

#include <type_traits>

#include "weft/base/sequence.hpp"
#include "weft/expr/depth.hpp"
#include "weft/expr/math/math.hpp"

namespace weft::inline WEFT_ABI {

namespace detail {
/// Appends `n`, a sum or difference of which node `a` or `b` is the product (a mul of the program as it was written:
/// what a math function ends in is its own business), as one fma.
constexpr int add_contracted(program& to, node n, bool product_is_b) {
  node const product = to.at(product_is_b ? n.b : n.a);
  bool const minus = n.kind == op::sub;
  auto const negated = [&](int id) { return to.operation(op::neg, n.type, id); };
  int const left = minus && product_is_b ? negated(product.a) : product.a;
  int const added = product_is_b ? n.a : minus ? negated(n.b) : n.b;
  return to.operation(op::fma, n.type, left, product.b, added);
}
/// Puts other nodes in the place of all that a program names outside of its nodes: `mapped(id)`, also of -1.
template <class F>
constexpr void renumber(program& p, F const& mapped) {
  for (std::int32_t& i : p.operands) i = mapped(i);
  for (std::int32_t& i : p.extents) i = mapped(i);
  for (std::int32_t& i : p.conditions) i = mapped(i);
  for (axis_info& a : p.axes) a.extent = mapped(a.extent);
  for (result_info& r : p.results) r.body = mapped(r.body), r.merged = mapped(r.merged);
}
}  // namespace detail

/// The same program in elementary operations. `contract`: whether a * b + c on floats is rounded once, and whether math
/// functions may use fma; the target decides (target::fma), and direct evaluation is told the same.
/// Constexpr for programs without math functions.
/// Errors  argument_error for what is nested too deep
constexpr program expand(program const& p, bool contract) {
  program to = p;
  to.nodes.clear();
  sequence<std::int32_t> at(p.nodes.size(), -1);
  auto const mapped = [&](int id) { return id < 0 ? -1 : at[static_cast<std::size_t>(id)]; };
  for (std::size_t i = 0; i < p.nodes.size(); ++i) {
    node const& was = p.nodes[i];
    node n = was;
    if (arity(n.kind) > 0) n.a = mapped(n.a), n.b = mapped(n.b), n.c = mapped(n.c);
    bool const sum = contract && is_float(n.type) && (n.kind == op::add || n.kind == op::sub);
    int const tanh = detail::tanh_beside_one(p, was);
    if (tanh >= 0) {
      int const x = mapped(p.at(tanh).a);
      at[i] = detail::expand_one_plus_tanh(to, contract, n.type, n.kind == op::sub ? to.operation(op::neg, n.type, x) : x);
    } else if (int const gate = contract && !std::is_constant_evaluated() ? detail::expand_gate(to, p, was, at) : -1; gate >= 0)
      at[i] = gate;
    else if (is_math(n.kind, n.type))
      at[i] = detail::expand_math(to, contract, n.kind, n.type, n.a, n.b);
    else if (sum && (p.at(was.a).kind == op::mul || p.at(was.b).kind == op::mul))
      at[i] = detail::add_contracted(to, n, p.at(was.b).kind == op::mul);
    else
      at[i] = to.add(n);
  }
  detail::renumber(to, mapped);
  if (!std::is_constant_evaluated()) check_depth(to, 6000);  // an exp is a dozen operations deep
  return to;
}

}  // namespace weft::inline WEFT_ABI
