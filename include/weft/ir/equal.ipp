#include "weft/ir/equal.hpp"

namespace weft::inline WEFT_ABI {
namespace ir {
namespace detail {

class comparer {
 public:
  template <class T>
  bool operator()(list<T> const& x, list<T> const& y) {
    if (x.size() != y.size()) return false;
    for (std::uint32_t i = 0; i < x.size(); ++i)
      if (!(*this)(x[i], y[i])) return false;
    return true;
  }
  bool operator()(std::int32_t x, std::int32_t y) const { return x == y; }
  bool operator()(buffer const* x, buffer const* y) const { return x->id == y->id; }
  bool operator()(prefetched const& x, prefetched const& y) {
    return x.buf->id == y.buf->id && x.distance == y.distance && x.of == y.of && x.into == y.into &&
           x.turns == y.turns && x.turn == y.turn;
  }
  bool operator()(expr x, expr y) {
    if (x == nullptr || y == nullptr) return x == y;
    // Both sides are hash-consed, so x has one counterpart at most.
    if (known_.size() <= x->id) known_.resize(x->id + 256, nullptr);
    if (known_[x->id] != nullptr) return known_[x->id] == y;
    if (x->kind != y->kind || x->type != y->type || x->lanes != y->lanes || x->value != y->value || x->by != y->by)
      return false;
    if ((x->buf == nullptr) != (y->buf == nullptr) || (x->buf != nullptr && x->buf->id != y->buf->id)) return false;
    if (!(*this)(x->a, y->a) || !(*this)(x->b, y->b) || !(*this)(x->c, y->c) || !(*this)(x->indices, y->indices))
      return false;
    known_[x->id] = y;
    return true;
  }
  bool operator()(stmt x, stmt y) {
    if (x == nullptr || y == nullptr) return x == y;
    if (x->kind != y->kind || x->how != y->how || x->variable != y->variable || x->threads != y->threads || x->jam != y->jam) return false;
    if ((x->buf == nullptr) != (y->buf == nullptr) || (x->buf != nullptr && x->buf->id != y->buf->id)) return false;
    if (x->number != y->number || (x->by == nullptr) != (y->by == nullptr) || (x->by != nullptr && !x->by->is(*y->by)))
      return false;
    if (x->role != y->role || x->unit != y->unit || x->asynchronous != y->asynchronous) return false;
    return (*this)(x->buffers, y->buffers) && (*this)(x->begin, y->begin) && (*this)(x->extent, y->extent) && (*this)(x->indices, y->indices) &&
           (*this)(x->before, y->before) && (*this)(x->value, y->value) && (*this)(x->mask, y->mask) && (*this)(x->identity, y->identity) &&
           (*this)(x->first, y->first) && (*this)(x->ahead, y->ahead) && (*this)(x->children, y->children);
  }
  bool operator()(buffer const& x, buffer const& y) {
    return x.name == y.name && x.type == y.type && x.where == y.where && x.lanes == y.lanes && x.id == y.id &&
           x.argument == y.argument && x.places == y.places && x.written == y.written && x.non_temporal == y.non_temporal && x.swizzled == y.swizzled && x.alias_class == y.alias_class &&
           x.alignment == y.alignment && (*this)(x.shape, y.shape) && (*this)(x.strides, y.strides);
  }

 private:
  sequence<expr> known_;  // by id of the left expression: the right one that it equals
};
}  // namespace detail

WEFT_DECL bool equal(function const& f, function const& g) {
  if (f.name != g.name || f.sizes != g.sizes || f.scalars != g.scalars || f.variables != g.variables ||
      f.buffers.size() != g.buffers.size())
    return false;
  detail::comparer same;
  for (std::size_t i = 0; i < f.buffers.size(); ++i)
    if (!same(*f.buffers[i], *g.buffers[i]) || f.shared_place(f.buffers[i]) != g.shared_place(g.buffers[i])) return false;
  return same(f.body, g.body);
}

}  // namespace ir
}  // namespace weft::inline WEFT_ABI
