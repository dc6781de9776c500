#include "weft/pass/known_elements.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

class known_loads final : public ir::rewriter {
 public:
  known_loads(ir::function& f, ir::stmt s) : ir::rewriter(*f.nodes), in_(f.buffers.size(), nullptr), other_(f.buffers.size(), false) {
    find(s);
    for (std::size_t b = 0; b < in_.size(); ++b) any_ = any_ || number_in(b) != nullptr;
  }
  bool any() const { return any_; }

 protected:
  using ir::rewriter::replace;
  ir::expr replace(ir::expr e) override {
    if (e->kind == op::instruction) return e;
    ir::expr number = e->kind == op::load ? number_in(static_cast<std::size_t>(e->buf->id)) : nullptr;
    if (number == nullptr) return nullptr;
    number = ir::literal(m_, e->type, number->value, e->lanes);
    if (e->a == nullptr) return number;
    return ir::ternary(m_, op::select, ir::broadcast(m_, (*this)(e->a), e->lanes), number, ir::literal(m_, e->type, 0, e->lanes));
  }

 private:
  ir::expr number_in(std::size_t buffer) const { return other_[buffer] ? nullptr : in_[buffer]; }
  void find(ir::stmt s) {
    if (s->kind == ir::stmt_kind::store && !s->asynchronous && s->value->kind == op::literal) {
      ir::expr& number = in_[static_cast<std::size_t>(s->buf->id)];
      if (number == nullptr) number = s->value;
      if (number->value != s->value->value) other_[static_cast<std::size_t>(s->buf->id)] = true;
    } else if (s->buf != nullptr && s->kind != ir::stmt_kind::allocate) {
      other_[static_cast<std::size_t>(s->buf->id)] = true;
    }
    for (ir::buffer const* b : s->buffers) other_[static_cast<std::size_t>(b->id)] = true;
    for (ir::stmt c : s->children) find(c);
  }

  sequence<ir::expr> in_;  // by buffer: what is stored to it
  sequence<bool> other_;   // by buffer: something else is, too
  bool any_ = false;
};

}  // namespace detail

WEFT_DECL ir::stmt known_elements(ir::function& f, ir::stmt s) {
  detail::known_loads known(f, s);
  return known.any() ? known(s) : s;
}

}  // namespace weft::inline WEFT_ABI
