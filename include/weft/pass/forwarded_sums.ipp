#include "weft/ir/own_memory.hpp"
#include "weft/ir/simplify.hpp"
#include "weft/pass/forwarded_sums.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

/// A statement with the loops over elements and the tiles around it.
struct way_to {
  ir::stmt what = nullptr;
  sequence<ir::stmt> around;
};

/// What is done with one buffer inside of a statement.
class use_finder {
 public:
  explicit use_finder(ir::buffer const* b) : buf_(b) {}
  void visit(ir::stmt s) {
    if (s->kind == ir::stmt_kind::call) other = true;
    bool reads = false;
    for (ir::expr e : {s->begin, s->extent, s->mask, s->identity}) other = other || is_read(e);
    for (ir::list<ir::expr> const* all : {&s->indices, &s->before})
      for (ir::expr e : *all) other = other || is_read(e);
    reads = is_read(s->value);
    if (reads && s->kind != ir::stmt_kind::store) other = true;
    if (reads) readers.push_back({s, around_});
    if (s->buf == buf_ && s->kind != ir::stmt_kind::allocate) {
      if (s->kind != ir::stmt_kind::store) other = true;
      writers.push_back({s, around_});
    }
    bool const walks = (s->kind == ir::stmt_kind::loop && !is_thread(s->how)) || s->kind == ir::stmt_kind::tile;
    if (walks) around_.push_back(s);
    for (ir::stmt c : s->children) visit(c);
    if (walks) around_.pop_back();
  }
  sequence<way_to> writers, readers;
  bool other = false;

 private:
  bool is_read(ir::expr e) const {
    return ir::has_part(e, [this](ir::expr x) { return x->kind == op::load && x->buf->alias_class == buf_->alias_class; });
  }
  ir::buffer const* buf_;
  sequence<ir::stmt> around_;
};

class sum_forwarder final : public ir::rewriter {
 public:
  explicit sum_forwarder(ir::function& f) : ir::rewriter(*f.nodes) {}

 protected:
  using ir::rewriter::replace;
  ir::stmt replace(ir::stmt s) override {
    if (s->kind != ir::stmt_kind::allocate || s->buf->where != ir::scope::stack) return nullptr;
    ir::stmt const r = forwarded(s);
    return r != nullptr ? (*this)(r) : nullptr;
  }

 private:
  /// Loads of `from` become loads of what the thread has; one statement is left out, and an allocation moved to `to`.
  class moved final : public ir::rewriter {
   public:
    moved(ir::arena& m, ir::buffer const* from, way_to const& writer, ir::stmt innermost) : ir::rewriter(m), from_(from), writer_(writer), innermost_(innermost) {}
    sequence<way_to> const* readers = nullptr;

   protected:
    using ir::rewriter::replace;
    ir::stmt replace(ir::stmt s) override {
      ir::buffer const* const own = writer_.what->value->buf;
      if (s == (writer_.around.empty() ? writer_.what : writer_.around[0])) return ir::block(m_, {});
      if (s->kind == ir::stmt_kind::allocate && s->buf == own) return (*this)(s->children[0]);
      if (s == innermost_) {
        ir::stmt const body = (*this)(s->children[0]);
        return ir::loop_like(m_, s, s->begin, s->extent, ir::allocated(m_, own, body));
      }
      for (way_to const& r : *readers) {
        if (r.what != s) continue;
        now_ = &r;
        ir::stmt_node n = *s;
        n.value = (*this)(s->value);
        now_ = nullptr;
        return m_.make(n);
      }
      return nullptr;
    }
    ir::expr replace(ir::expr e) override {
      if (e->kind != op::load || e->buf != from_ || now_ == nullptr) return nullptr;
      sequence<ir::expr> indices;
      for (ir::expr i : writer_.what->value->indices) indices.push_back(of_reader(m_, i, writer_, *now_));
      return ir::load(m_, writer_.what->value->buf, indices);
    }

   private:
    ir::buffer const* from_;
    way_to const& writer_;
    ir::stmt innermost_;
    way_to const* now_ = nullptr;
  };
  /// With the reader's loop variables in the place of the writer's.
  static ir::expr of_reader(ir::arena& m, ir::expr e, way_to const& writer, way_to const& reader) {
    for (std::size_t i = 0; i < writer.around.size(); ++i)
      if (writer.around[i]->kind == ir::stmt_kind::loop)
        e = ir::substitute(m, e, writer.around[i]->variable, ir::variable(m, reader.around[i]->variable));
    return e;
  }
  bool same_walk(way_to const& writer, way_to const& reader) {
    if (writer.around.size() != reader.around.size()) return false;
    for (std::size_t i = 0; i < writer.around.size(); ++i) {
      ir::stmt const a = writer.around[i], b = reader.around[i];
      if (a->kind != b->kind || a->unit != b->unit || a->role != b->role) return false;
      if (a->kind == ir::stmt_kind::loop && (a->begin != b->begin || a->extent != b->extent)) return false;
    }
    return true;
  }
  bool same_elements(ir::expr e, ir::buffer const* b, way_to const& writer, way_to const& reader) {
    if (e == nullptr) return true;
    for (ir::expr i : e->indices)
      if (!same_elements(i, b, writer, reader)) return false;
    for (ir::expr x : {e->a, e->b, e->c})
      if (!same_elements(x, b, writer, reader)) return false;
    if (e->kind != op::load || e->buf->alias_class != b->alias_class) return true;
    if (e->buf != b || e->a != nullptr) return false;
    for (std::size_t d = 0; d < e->indices.size(); ++d) {
      ir::expr const apart = simplify(m_, ir::binary(m_, op::sub, of_reader(m_, writer.what->indices[d], writer, reader), e->indices[d]));
      if (!ir::is_literal(apart, 0)) return false;
    }
    return true;
  }
  /// Finds the innermost loop over threads around the allocation of `own`, null if there is none. False: a thread comes to it again
  /// and again, or it is elsewhere.
  bool finds_place(ir::stmt s, ir::buffer const* own, ir::stmt& innermost) {
    if (s->kind == ir::stmt_kind::allocate && s->buf == own) return true;
    if (s->kind == ir::stmt_kind::loop && !is_thread(s->how)) return false;
    for (ir::stmt c : s->children) {
      if (!finds_place(c, own, innermost)) continue;
      if (s->kind == ir::stmt_kind::loop && innermost == nullptr) innermost = s;
      return true;
    }
    return false;
  }
  /// Whether nothing else is done there: it is left out as a whole.
  static bool only_writes(ir::stmt s, ir::stmt what) {
    if (s == what || s->kind == ir::stmt_kind::barrier) return true;
    bool const walks = s->kind == ir::stmt_kind::loop || s->kind == ir::stmt_kind::tile || s->kind == ir::stmt_kind::block || s->kind == ir::stmt_kind::branch;
    for (ir::stmt c : s->children)
      if (!only_writes(c, what)) return false;
    return walks;
  }
  ir::stmt forwarded(ir::stmt s) {
    use_finder uses(s->buf);
    uses.visit(s->children[0]);
    if (uses.other || uses.writers.size() != 1 || uses.readers.empty()) return nullptr;
    way_to const& writer = uses.writers[0];
    ir::expr const value = writer.what->value;
    if (!writer.around.empty() && !only_writes(writer.around[0], writer.what)) return nullptr;
    if (value->kind != op::load || value->a != nullptr || value->buf->where != ir::scope::stack) return nullptr;
    ir::stmt innermost = nullptr;
    if (!finds_place(s->children[0], value->buf, innermost)) return nullptr;
    for (way_to const& r : uses.readers)
      if (!same_walk(writer, r) || !same_elements(r.what->value, s->buf, writer, r)) return nullptr;
    moved m(m_, s->buf, writer, innermost);
    m.readers = &uses.readers;
    ir::stmt const inside = m(s->children[0]);
    return innermost != nullptr ? inside : ir::allocated(m_, value->buf, inside);
  }
};

}  // namespace detail

WEFT_DECL ir::stmt forwarded_sums(ir::function& f, ir::stmt body) { return detail::sum_forwarder(f)(body); }

}  // namespace weft::inline WEFT_ABI
