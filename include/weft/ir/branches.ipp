#include "weft/ir/linear.hpp"
#include "weft/ir/simplify.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {
/// Whether both are branches on the same comparison of loop variables, which no step between them changes.
inline bool hang_on_the_same(ir::stmt x, ir::stmt y) {
  if (x->kind != ir::stmt_kind::branch || y->kind != ir::stmt_kind::branch) return false;
  ir::expr const a = x->value, b = y->value;
  if (a->kind != op::lt || b->kind != op::lt || a->lanes > 1 || b->lanes > 1) return false;
  if (a->a->type != dtype::i64 || b->a->type != dtype::i64) return false;
  linear d = linear_form(a->a);
  d.add(linear_form(a->b), -1);
  for (linear::term const& t : d.terms)
    if (t.atom->kind != op::axis) return false;
  d.add(linear_form(b->a), -1);
  d.add(linear_form(b->b), 1);
  return d.terms.empty() && d.constant == 0;
}
}  // namespace detail

WEFT_DECL ir::stmt joined_branches(ir::arena& m, ir::stmt s) {
  if (s->kind != ir::stmt_kind::block) return s;
  sequence<ir::stmt> steps;
  for (std::size_t i = 0; i < s->children.size(); ++i) {
    ir::stmt const next = s->children[i];
    if (steps.empty() || !detail::hang_on_the_same(steps.back(), next)) {
      steps.push_back(next);
      continue;
    }
    ir::stmt const last = steps.back();
    auto const both = [&](std::size_t side) {
      sequence<ir::stmt> all;
      for (ir::stmt of : {last, next})
        if (side < of->children.size()) all.push_back(of->children[side]);
      return all.empty() ? nullptr : ir::block(m, all);
    };
    steps.back() = ir::branch(m, last->value, both(0), both(1));
  }
  return steps.size() == s->children.size() ? s : ir::block(m, steps);
}

}  // namespace weft::inline WEFT_ABI
