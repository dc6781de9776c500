// What conditions that vectors share leave out of a loop: iterations that do nothing, and edges that most tiles are away from. Of pass/partition.hpp.
#pragma once

#include "weft/ir/linear.hpp"
#include "weft/ir/simplify.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

class known_condition final : public ir::rewriter {
 public:
  known_condition(ir::arena& m, ir::expr condition, bool holds) : ir::rewriter(m), condition_(condition), holds_(holds) {}

 protected:
  using ir::rewriter::replace;
  ir::expr replace(ir::expr e) override {
    return e == condition_ ? ir::literal(m_, dtype::boolean, holds_) : nullptr;
  }

 private:
  ir::expr condition_;
  bool holds_;
};

/// The conditions by which a body chooses between whole vectors, taken apart where several have to hold: `a` and `b` of
/// select(broadcast(a and b, 16) and lanes, x, y). None of them reads memory.
class shared_conditions final : public ir::rewriter {
 public:
  shared_conditions(ir::arena& m, ir::stmt body) : ir::rewriter(m) { (*this)(body); }
  sequence<ir::expr> all;

 protected:
  using ir::rewriter::replace;
  ir::expr replace(ir::expr e) override {
    if (e->kind == op::select && e->lanes > 1) take(e->a);
    return nullptr;
  }

 private:
  void take(ir::expr e) {
    constexpr std::size_t many = 8;
    if (e->kind == op::logical_and) return take(e->a), take(e->b);
    if (e->lanes > 1) return e->kind == op::broadcast ? take(e->a) : void();
    bool known = e->kind == op::literal || all.size() == many || ir::has_load(e);
    for (ir::expr other : all) known = known || other == e;
    if (!known) all.push_back(e);
  }
};

/// Without what writes back what it reads: an empty block where nothing else is done. A load that has a mask of its own is 0 elsewhere, with which a
/// sum begins (pass/promote).
inline ir::stmt without_idle(ir::arena& m, ir::stmt s) {
  if (s->kind == ir::stmt_kind::store && !s->asynchronous && s->value->kind == op::load && s->value->buf == s->buf &&
      (s->value->a == nullptr || s->value->a == s->mask) && s->value->indices.size() == s->indices.size()) {
    bool same = true;
    for (std::size_t d = 0; d < s->indices.size(); ++d) same = same && s->value->indices[d] == s->indices[d];
    return same ? ir::block(m, {}) : s;
  }
  if (s->kind != ir::stmt_kind::block) return s;
  sequence<ir::stmt> left;
  for (ir::stmt c : s->children) left.push_back(without_idle(m, c));
  return ir::block(m, left);
}
inline bool is_nothing(ir::stmt s) { return s->kind == ir::stmt_kind::block && s->children.size() == 0; }

/// Whether an index is made of loop variables and sizes, whose sums do not wrap.
inline bool is_of_loops(ir::expr e, int depth = 8) {
  if (e->kind == op::axis || e->kind == op::extent || e->kind == op::literal) return true;
  bool const bounded = e->kind == op::add || e->kind == op::sub || e->kind == op::mul || e->kind == op::min || e->kind == op::max ||
                       e->kind == op::floor_div || e->kind == op::floor_mod;
  return bounded && depth > 0 && is_of_loops(e->a, depth - 1) && is_of_loops(e->b, depth - 1);
}
/// A comparison of indices, as slope * v + rest <= 0 for a loop's variable v. `rest` null: it is another condition.
struct edge_of_loop {
  std::int64_t slope = 0;
  ir::expr rest = nullptr;

  edge_of_loop(ir::arena& m, ir::expr condition, std::int32_t variable) {
    if ((condition->kind != op::lt && condition->kind != op::le) || condition->a->type != dtype::i64 || condition->lanes > 1) return;
    ir::expr const apart = ir::binary(m, op::sub, condition->a, condition->b);
    constexpr std::int64_t steep = std::int64_t(1) << 20, far = std::int64_t(1) << 40;  // nothing below wraps
    linear const form = linear_form(apart);
    if (form.constant > far || form.constant < -far) return;
    for (linear::term const& t : form.terms) {
      bool const own = t.atom->kind == op::axis && t.atom->value == variable;
      if (t.coefficient > steep || t.coefficient < -steep || (!own && (ir::uses(t.atom, variable) || !is_of_loops(t.atom)))) return;
      if (own) slope = t.coefficient;
    }
    if (slope == 0) return;
    rest = ir::substitute(m, apart, variable, ir::index(m, 0));
    if (condition->kind == op::lt) rest = ir::binary(m, op::add, rest, ir::index(m, 1));
    rest = simplify(m, rest);
  }
  /// slope * v + rest
  ir::expr at(ir::arena& m, ir::expr v) const {
    return simplify(m, ir::binary(m, op::add, ir::binary(m, op::mul, v, ir::index(m, slope)), rest));
  }
  /// The loop, with these of its iterations alone in which the condition holds.
  ir::stmt kept(ir::arena& m, ir::stmt loop) const {
    std::int64_t const step = slope < 0 ? -slope : slope;
    ir::expr const end = ir::binary(m, op::add, loop->begin, loop->extent), zero = ir::index(m, 0);
    // Up to floor(-rest / slope), or from ceil(rest / step) on.
    ir::expr const last = ir::binary(m, op::floor_div, ir::binary(m, op::sub, zero, rest), ir::index(m, step));
    ir::expr const first = ir::binary(m, op::floor_div, ir::binary(m, op::add, rest, ir::index(m, step - 1)), ir::index(m, step));
    ir::expr const from = slope > 0 ? loop->begin : simplify(m, ir::binary(m, op::max, loop->begin, first));
    ir::expr const to = slope > 0 ? ir::binary(m, op::min, end, ir::binary(m, op::add, last, ir::index(m, 1))) : end;
    ir::expr const trips = simplify(m, ir::binary(m, op::max, zero, ir::binary(m, op::sub, to, from)));
    return ir::loop_like(m, loop, from, trips, loop->children[0]);
  }
};

}  // namespace detail
}  // namespace weft::inline WEFT_ABI
