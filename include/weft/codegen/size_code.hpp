// What a call computes of its run-time sizes before the code runs.
#pragma once

#include "weft/base/sequence.hpp"
#include "weft/expr/program.hpp"
#include "weft/ir/ir.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

/// Expressions over launch::sizes, flattened for evaluation at each call.
class size_code {
 public:
  static constexpr int most = 512;
  /// The number of `e`'s value. Operands stand before what is made of them; equal nodes are one.
  int add(ir::expr e) {
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      if (nodes_[i] == e) return static_cast<int>(i);
    instruction n{e->kind, e->type, -1, -1, -1, e->value};
    if (e->a != nullptr) n.a = add(e->a);
    if (e->b != nullptr) n.b = add(e->b);
    if (e->c != nullptr) n.c = add(e->c);
    if (is_choice(e->kind)) n.type = e->b->type;
    else if (e->a != nullptr) n.type = e->a->type;
    n.result = e->type;
    nodes_.push_back(e);
    code_.push_back(n);
    return static_cast<int>(code_.size()) - 1;
  }
  /// The number of a program's node, made of literals and extents, of which `size(tensor, dim)` is the value; -1 where it is not.
  template <class Size>
  int add(program const& p, std::int32_t id, Size const& size) {
    node const& n = p.at(id);
    if (n.kind == op::extent) {
      ir::expr const e = size(n.a, n.b);
      return e == nullptr ? -1 : add(e);
    }
    if (arity(n.kind) == 0 && n.kind != op::literal) return -1;
    instruction i{n.kind, n.type, -1, -1, -1, n.value, n.type};
    if (arity(n.kind) > 0) {
      std::int32_t const from[] = {n.a, n.b, n.c};
      std::int32_t* const to[] = {&i.a, &i.b, &i.c};
      for (int k = 0; k < 3; ++k)
        if (from[k] >= 0 && (*to[k] = add(p, from[k], size)) < 0) return -1;
      i.type = p.at(is_choice(n.kind) ? n.b : n.a).type;
    }
    nodes_.push_back(nullptr);
    code_.push_back(i);
    return static_cast<int>(code_.size()) - 1;
  }
  int size() const { return static_cast<int>(code_.size()); }
  /// False when a value is too large for what sizes and their products are.
  bool run(std::int64_t const* sizes, std::int64_t* values) const {
    std::int64_t* to = values;
    for (instruction const& n : code_) {
      std::int64_t product = 0;
      if (n.kind == op::literal) *to = n.value;
      else if (n.kind == op::extent) *to = sizes[n.value];
      else if (n.kind == op::mul && n.type == dtype::i64) {
        if (__builtin_mul_overflow(values[n.a], values[n.b], &product)) return false;
        *to = product;
      } else {
        *to = apply(n.kind, n.type, values[n.a], n.b >= 0 ? values[n.b] : 0, n.c >= 0 ? values[n.c] : 0, n.result);
      }
      // Sums of such cannot wrap.
      if (*to > std::int64_t(1) << 62 || *to < -(std::int64_t(1) << 62)) return false;
      ++to;
    }
    return true;
  }

 private:
  struct instruction {
    op kind;
    dtype type;
    std::int32_t a, b, c;
    std::int64_t value;
    dtype result = dtype::i64;
  };
  sequence<instruction> code_;
  sequence<ir::expr> nodes_;  // of an arena that lives as long as this is written
};

}  // namespace detail
}  // namespace weft::inline WEFT_ABI
