#include "weft/base/error.hpp"
#include "weft/ir/simplify.hpp"  // first_iteration
#include "weft/pass/unroll.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

/// Whether some accumulate in `s` comes back to the same element for all values of both variables, or reads along `a` what it has
/// written before, unless `b` stands for other elements. Where a branch says what `b` is, indices along which it runs do not name it.
inline bool one_reduction(ir::stmt s, std::int32_t a, std::int32_t b) {
  bool apart = s->kind != ir::stmt_kind::accumulate;
  for (ir::expr i : s->indices) apart = apart || ir::uses(i, a) || ir::uses(i, b);
  bool along_a = false, others = false;
  for (std::uint32_t d = 0; d < s->before.size(); ++d)
    if (s->before[d] == s->indices[d]) others = others || ir::uses(s->indices[d], b);
    else if (ir::uses(s->indices[d], a)) along_a = true, apart = apart && !ir::uses(s->indices[d], b);
  if (along_a && !others) apart = false;
  if (!apart) return true;
  for (ir::stmt c : s->children)
    if (one_reduction(c, a, b)) return true;
  return false;
}

class unroller final : public ir::rewriter {
 public:
  using ir::rewriter::rewriter;

 protected:
  using ir::rewriter::replace;
  ir::stmt replace(ir::stmt s) override {
    if (s->kind != ir::stmt_kind::loop || (s->how != loop_kind::unrolled && s->how != loop_kind::virtual_thread))
      return nullptr;
    if (s->extent->kind != op::literal) WEFT_THROW(internal_error("unroll: an extent is not a number"));
    return jam((*this)(s->children[0]), s);
  }

 private:
  ir::stmt jam(ir::stmt body, ir::stmt over) {
    std::int32_t const v = over->variable;
    if (body->kind == ir::stmt_kind::block && over->how == loop_kind::virtual_thread) {
      sequence<ir::stmt> steps;  // in turns: no iteration touches what another one writes
      for (ir::stmt c : body->children) steps.push_back(jam(c, over));
      return ir::block(m_, steps);
    }
    if (body->kind == ir::stmt_kind::loop && !ir::uses(body->begin, v) && !ir::uses(body->extent, v) &&
        !one_reduction(body, v, body->variable))
      return ir::loop_like(m_, body, body->begin, body->extent, jam(body->children[0], over));
    if (body->kind == ir::stmt_kind::branch && !ir::uses(body->value, v)) {
      ir::stmt const then = jam(body->children[0], over);
      return ir::branch(m_, body->value, then, body->children.size() > 1 ? jam(body->children[1], over) : nullptr);
    }
    sequence<ir::stmt> copies;
    for (std::int64_t i = 0; i < over->extent->value; ++i) {
      ir::stmt const copy = first_iteration(m_, v, i == 0)(body);
      copies.push_back(
          ir::substitute(m_, copy, v, ir::binary(m_, op::add, over->begin, ir::index(m_, i))));
    }
    return ir::block(m_, copies);
  }
};
}  // namespace detail

WEFT_DECL ir::stmt unroll(ir::arena& m, ir::stmt s) { return detail::unroller(m)(s); }

}  // namespace weft::inline WEFT_ABI
