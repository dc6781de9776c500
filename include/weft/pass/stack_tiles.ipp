#include "weft/base/joined.hpp"
#include "weft/ir/own_memory.hpp"
#include "weft/pass/stack_tiles.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

/// All accesses to one buffer, and then what is done in their place.
class tile_accesses final : public ir::rewriter {
 public:
  tile_accesses(ir::function& f, ir::buffer const* buf) : ir::rewriter(*f.nodes), f_(f), buf_(buf) {
    bool const literal = buf->shape.size() == 0 || buf->strides[0]->kind == op::literal;
    std::int64_t const elements = !literal                ? 0
                                  : buf->shape.size() > 0 ? buf->shape[0]->value * buf->strides[0]->value
                                                          : 1;
    owner_.resize(elements > 4096 ? 0 : static_cast<std::size_t>(elements), -1);
    known_ = !owner_.empty();
  }
  /// What stands in the place of the allocate's `body`; null: it cannot be done.
  ir::stmt kept(ir::stmt body) {
    body = (*this)(body);  // finds the accesses; every answer is null
    if (!known_ || tiles_.empty()) return nullptr;
    finding_ = false;
    forget();
    sequence<ir::stmt> steps;
    for (tile& t : tiles_) {
      make_register(t);
      // The lanes that a mask leaves out are read again when the next mask is applied.
      if (masked_) steps.push_back(register_store(t.reg, ir::literal(m_, buf_->type, 0, t.lanes)));
    }
    steps.push_back((*this)(body));
    body = ir::block(m_, steps);
    for (std::size_t i = tiles_.size(); i-- > 0;) {
      ir::stmt_node n;
      n.kind = ir::stmt_kind::allocate;
      n.buf = tiles_[i].reg;
      n.children = m_.make_list(sequence<ir::stmt>(1, body));
      body = m_.make(n);
    }
    return body;
  }

 protected:
  ir::expr replace(ir::expr e) override {
    if (e->kind != op::load || e->buf != buf_ || !known_) return nullptr;
    int const at = tile_of(e->indices, e->lanes);
    if (at < 0 || finding_) return nullptr;
    ir::expr const all = ir::load(m_, tiles_[static_cast<std::size_t>(at)].reg, {});
    if (e->a == nullptr) return all;
    return ir::ternary(m_, op::select, ir::broadcast(m_, (*this)(e->a), e->lanes), all,
                       ir::literal(m_, e->type, 0, e->lanes));
  }
  ir::stmt replace(ir::stmt s) override {
    if (!known_) return s;
    if (s->kind == ir::stmt_kind::loop && is_concurrent(s->how)) {
      if (finding_) forget();  // what was met outside is to be met again
      ++parallel_;
      ir::stmt const same = finding_ || s->ahead.size() == 0 ? children(s) : without_prefetch(s);
      --parallel_;
      return same;
    }
    if (!finding_ && s->ahead.size() > 0) return without_prefetch(s);
    for (ir::buffer const* b : s->buffers) known_ = known_ && b != buf_;  // a function takes memory
    if (s->buf != buf_ || s->kind == ir::stmt_kind::allocate) return nullptr;
    int lanes = s->value->lanes;
    for (ir::expr i : s->indices)
      if (i->lanes > lanes) lanes = i->lanes;
    int const at = s->kind == ir::stmt_kind::store ? tile_of(s->indices, lanes) : (known_ = false, -1);
    masked_ = masked_ || s->mask != nullptr;
    if (at < 0 || finding_) return nullptr;
    ir::buffer const* const reg = tiles_[static_cast<std::size_t>(at)].reg;
    ir::expr value = ir::broadcast(m_, (*this)(s->value), lanes);
    if (s->mask != nullptr)
      value = ir::ternary(m_, op::select, ir::broadcast(m_, (*this)(s->mask), lanes), value, ir::load(m_, reg, {}));
    return register_store(reg, value);
  }

 private:
  /// A loop that asks for nothing of what is in registers.
  ir::stmt without_prefetch(ir::stmt s) {
    ir::stmt_node n = *children(s);
    sequence<ir::prefetched> others;
    for (ir::prefetched const& p : s->ahead)
      if (p.buf != buf_) others.push_back(p);
    n.ahead = m_.make_list(others);
    return m_.make(n);
  }
  struct tile {
    ir::list<ir::expr> indices;
    int lanes = 1;
    ir::buffer const* reg = nullptr;
  };
  /// The place of these elements in `tiles_`, where they are put when they are new; -1, and nothing is known any more,
  /// for what cannot be in a register.
  int tile_of(ir::list<ir::expr> indices, int lanes) {
    for (std::size_t t = 0; t < tiles_.size(); ++t) {
      bool same = tiles_[t].lanes == lanes;
      for (std::size_t d = 0; d < indices.size(); ++d) same = same && tiles_[t].indices[d] == indices[d];
      if (same && parallel_ == 0) return static_cast<int>(t);
    }
    known_ = finding_ && parallel_ == 0 && tiles_.size() < 64;
    for (int lane = 0; lane < lanes && known_; ++lane) {
      std::int64_t element = 0;
      for (std::size_t d = 0; d < indices.size(); ++d) {
        ir::expr const i = indices[d], base = i->kind == op::ramp || i->kind == op::broadcast ? i->a : i;
        known_ = known_ && base->kind == op::literal && buf_->strides[d]->kind == op::literal;
        if (known_) element += (base->value + (i->kind == op::ramp ? lane * i->value : 0)) * buf_->strides[d]->value;
      }
      known_ = known_ && element >= 0 && element < static_cast<std::int64_t>(owner_.size()) &&
               owner_[static_cast<std::size_t>(element)] < 0;
      if (known_) owner_[static_cast<std::size_t>(element)] = static_cast<int>(tiles_.size());
    }
    if (!known_) return -1;
    tiles_.push_back({indices, lanes, nullptr});
    return static_cast<int>(tiles_.size()) - 1;
  }
  void make_register(tile& t) {
    t.reg = ir::own_register(f_, joined({buf_->name, "_", std::to_string(f_.buffers.size())}), buf_->type, static_cast<std::uint16_t>(t.lanes));
  }
  ir::stmt register_store(ir::buffer const* to, ir::expr value) {
    ir::stmt_node n;
    n.kind = ir::stmt_kind::store;
    n.buf = to;
    n.value = value;
    return m_.make(n);
  }

  ir::function& f_;
  ir::buffer const* buf_;
  sequence<tile> tiles_;
  sequence<int> owner_;  // by element: its place in tiles_
  bool known_ = true, finding_ = true, masked_ = false;
  int parallel_ = 0;
};

/// The buffers whose elements are not all named by numbers. Found in one go, as a nest may hold a thousand buffers.
class indexed_buffers final : public ir::rewriter {
 public:
  indexed_buffers(ir::arena& m, std::size_t buffers) : ir::rewriter(m), found(buffers, false) {}
  sequence<bool> found;

 protected:
  ir::expr replace(ir::expr e) override {
    if (e->kind == op::load) note(e->buf, e->indices);
    return nullptr;
  }
  ir::stmt replace(ir::stmt s) override {
    if (s->buf != nullptr) note(s->buf, s->indices);
    return nullptr;
  }

 private:
  void note(ir::buffer const* buf, ir::list<ir::expr> indices) {
    for (ir::expr i : indices)
      if ((i->kind == op::ramp || i->kind == op::broadcast ? i->a : i)->kind != op::literal)
        found[static_cast<std::size_t>(buf->id)] = true;
  }
};
class stack_tile_finder final : public ir::rewriter {
 public:
  stack_tile_finder(ir::function& f, sequence<bool> const& indexed) : ir::rewriter(*f.nodes), f_(f), indexed_(indexed) {}

 protected:
  using ir::rewriter::replace;
  ir::stmt replace(ir::stmt s) override {
    if (s->kind != ir::stmt_kind::allocate || s->buf->where != ir::scope::stack) return nullptr;
    ir::stmt const inside = (*this)(s->children[0]);
    if (!indexed_[static_cast<std::size_t>(s->buf->id)])
      if (ir::stmt const kept = tile_accesses(f_, s->buf).kept(inside)) return kept;
    ir::stmt_node n = *s;
    n.children = m_.make_list(sequence<ir::stmt>(1, inside));
    return m_.make(n);
  }

 private:
  ir::function& f_;
  sequence<bool> const& indexed_;
};
}  // namespace detail

WEFT_DECL ir::stmt stack_tiles(ir::function& f, ir::stmt s) {
  detail::indexed_buffers indexed(*f.nodes, f.buffers.size());
  indexed(s);
  return detail::stack_tile_finder(f, indexed.found)(s);
}

}  // namespace weft::inline WEFT_ABI
