#include "weft/ir/own_memory.hpp"
#include "weft/ir/simplify.hpp"
#include "weft/pass/lanes.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

/// What vector registers have become, by buffer.
struct lane_memory {
  sequence<ir::buffer const*> of;
  ir::buffer const* find(ir::buffer const* b) const {
    auto const id = static_cast<std::size_t>(b->id);
    return id < of.size() ? of[id] : nullptr;
  }
};
/// One lane of the expressions of a statement.
class one_lane final : public ir::rewriter {
 public:
  one_lane(ir::arena& m, lane_memory const& memory, int lane) : ir::rewriter(m), memory_(memory), lane_(lane) {}

 protected:
  using ir::rewriter::replace;
  ir::expr replace(ir::expr e) override {
    switch (e->kind) {
      case op::literal: return ir::literal(m_, e->type, e->value);
      case op::ramp: return ir::binary(m_, op::add, (*this)(e->a), ir::index(m_, lane_ * e->value));
      case op::broadcast: return (*this)(e->a);
      case op::instruction: return (*this)(e->a);
      case op::load: break;
      default: return nullptr;
    }
    sequence<ir::expr> indices;
    ir::buffer const* const own = memory_.find(e->buf);
    if (own != nullptr) indices.push_back(ir::index(m_, lane_));
    else
      for (ir::expr i : e->indices) indices.push_back((*this)(i));
    return ir::load(m_, own != nullptr ? own : e->buf, indices, (*this)(e->a));
  }

 private:
  lane_memory const& memory_;
  int lane_;
};

class lane_writer final : public ir::rewriter {
 public:
  explicit lane_writer(ir::function& f) : ir::rewriter(*f.nodes), f_(f) {}

 protected:
  using ir::rewriter::replace;
  ir::stmt replace(ir::stmt s) override {
    if (s->kind == ir::stmt_kind::tile) return s;
    if (s->kind == ir::stmt_kind::allocate && s->buf->lanes > 1) {
      memory_.of.resize(f_.buffers.size(), nullptr);
      ir::buffer const* const own =
          ir::own_buffer(f_, s->buf->name + "_lanes", *s->buf, sequence<ir::expr>(1, ir::index(m_, s->buf->lanes)));
      memory_.of[static_cast<std::size_t>(s->buf->id)] = own;
      return ir::allocated(m_, own, (*this)(s->children[0]));
    }
    bool const group = s->kind == ir::stmt_kind::together;
    if (s->kind != ir::stmt_kind::store && !group) return nullptr;
    sequence<ir::stmt> all;
    int const lanes = lanes_of(group ? s->children[0] : s);
    for (int l = 0; l < lanes; ++l) {
      one_lane at(m_, memory_, l);
      sequence<ir::stmt> parts;
      if (!group) parts.push_back(lane(s, at, l));
      for (ir::stmt c : s->children) parts.push_back(lane(c, at, l));
      all.push_back(ir::together(m_, parts));
    }
    return ir::block(m_, all);
  }

 private:
  static int lanes_of(ir::stmt s) {
    int n = s->value->lanes;
    for (ir::expr i : s->indices)
      if (i->lanes > n) n = i->lanes;
    return n;
  }
  ir::stmt lane(ir::stmt s, one_lane& at, int l) {
    ir::stmt_node n = *s;
    ir::buffer const* const own = memory_.find(s->buf);
    if (own != nullptr) n.buf = own;
    sequence<ir::expr> indices;
    if (own != nullptr) indices.push_back(ir::index(m_, l));
    else
      for (ir::expr i : s->indices) indices.push_back(at(i));
    n.indices = m_.make_list(indices);
    n.value = at(s->value);
    n.mask = at(s->mask);
    if (n.mask != nullptr && ir::is_literal(n.mask, 1)) n.mask = nullptr;
    if (n.mask != nullptr && ir::is_literal(n.mask, 0)) return ir::block(m_, {});
    return m_.make(n);
  }
  ir::function& f_;
  lane_memory memory_;
};

// --- wide accesses -------------------------------------------------------------------------------------------------

/// An element as the others beside it have it: a number behind what they share.
struct element_place_in_row {
  ir::buffer const* buf = nullptr;
  ir::list<ir::expr> indices;
  int dim = -1;  // along which elements lie side by side; -1: along none
  ir::expr base = nullptr;  // of that index
  std::int64_t constant = 0;
  bool beside(element_place_in_row const& o) const {
    if (buf != o.buf || dim != o.dim || base != o.base || dim < 0) return false;
    for (int d = 0; d < static_cast<int>(indices.size()); ++d)
      if (d != dim && indices[static_cast<std::size_t>(d)] != o.indices[static_cast<std::size_t>(d)]) return false;
    return true;
  }
};

inline element_place_in_row place_in_row(ir::arena& m, ir::buffer const* b, ir::list<ir::expr> indices) {
  element_place_in_row p{b, indices, -1, nullptr, 0};
  for (int d = 0; d < static_cast<int>(indices.size()); ++d)
    if (ir::is_literal(b->strides[static_cast<std::size_t>(d)], 1) && (p.dim < 0 || indices[static_cast<std::size_t>(d)]->kind != op::literal))
      p.dim = d;  // where the last dimension is one element, the one outside
  if (p.dim < 0) return p;
  linear form = linear_form(indices[static_cast<std::size_t>(p.dim)]);
  p.constant = form.constant;
  form.constant = 0;
  p.base = rebuild(m, form);
  return p;
}
inline bool is_multiple(linear const& form, std::int64_t of) {
  for (linear::term const& t : form.terms)
    if (t.coefficient % of != 0) return false;
  return form.constant % of == 0;
}
/// Whether elements from the constant `first` on begin at a multiple of `width` elements.
inline bool begins_at(ir::arena& m, element_place_in_row const& p, std::int64_t first, std::int64_t width) {
  std::int64_t const bytes = width * size_bytes(p.buf->type);
  if (p.buf->alignment % bytes != 0 && p.buf->where == ir::scope::argument) return false;
  ir::expr flat = p.base;
  for (int d = 0; d < static_cast<int>(p.indices.size()); ++d) {
    auto const at = static_cast<std::size_t>(d);
    // An open stride makes an atom of the product.
    if (d != p.dim && !is_multiple(linear_form(p.buf->strides[at]), width)) flat = ir::binary(m, op::add, flat, ir::binary(m, op::mul, p.indices[at], p.buf->strides[at]));
  }
  linear form = linear_form(flat);
  form.constant += first;
  return is_multiple(form, width);
}
inline sequence<ir::expr> row_from(ir::arena& m, element_place_in_row const& p, std::int64_t first, std::int64_t width) {
  sequence<ir::expr> indices;
  for (ir::expr i : p.indices) indices.push_back(i);
  ir::expr const begin = ir::binary(m, op::add, p.base, ir::index(m, first));
  indices[static_cast<std::size_t>(p.dim)] = ir::ramp(m, begin, 1, static_cast<int>(width));
  return indices;
}

class row_widener {
 public:
  row_widener(ir::function& f, sequence<bool> const& own) : f_(f), m_(*f.nodes), own_(own) {}
  /// The stores, and what they are with wide accesses.
  ir::stmt widened(sequence<ir::stmt> const& row) {
    row_ = row;
    for (std::size_t i = 0; i < row.size(); ++i) {
      targets_.push_back(place_of(row[i]->buf, row[i]->indices));
      sequence<bool> seen;
      find_loads(row[i]->value, i, seen);
      for (ir::expr e : row[i]->indices) find_loads(e, i, seen);
    }
    widen_loads();
    widen_stores();
    if (buffers_.empty()) return nullptr;
    sequence<ir::stmt> steps = front_;
    for (std::size_t i = 0; i < row_.size(); ++i) {
      steps.push_back(replaced(row_[i]));
      for (late const& l : behind_)
        if (l.after == i) steps.push_back(l.what);
    }
    ir::stmt body = ir::block(m_, steps);
    for (std::size_t i = buffers_.size(); i-- > 0;) body = ir::allocated(m_, buffers_[i], body);
    return body;
  }

 private:
  struct found_load {
    ir::expr e;
    element_place_in_row at;
    std::size_t first;  // the first statement that reads it
    std::size_t last;
    ir::expr by = nullptr;
  };
  struct late {
    std::size_t after;
    ir::stmt what;
  };
  bool is_own(ir::buffer const* b) const {
    auto const id = static_cast<std::size_t>(b->id);
    return b->where == ir::scope::registers || (id < own_.size() && own_[id]);
  }
  element_place_in_row place_of(ir::buffer const* b, ir::list<ir::expr> indices) { return place_in_row(m_, b, indices); }
  /// Whether neither its mask nor its place hangs on memory.
  static bool is_placed_under(ir::expr load) {
    if (ir::has_load(load->a)) return false;
    for (ir::expr i : load->indices)
      if (ir::has_load(i)) return false;
    return true;
  }
  void find_loads(ir::expr e, std::size_t statement, sequence<bool>& seen) {
    if (e == nullptr) return;
    if (seen.size() <= e->id) seen.resize(e->id + 256, false);
    if (seen[e->id]) return;
    seen[e->id] = true;
    if (e->kind == op::load && !is_own(e->buf) && (e->a == nullptr || is_placed_under(e))) {
      bool known = false;
      for (found_load& l : loads_)
        if (l.e == e) known = true, l.last = statement;
      if (!known) loads_.push_back({e, place_of(e->buf, e->indices), statement, statement});
    } else if (e->kind == op::load && !is_own(e->buf)) {
      unplaced_.push_back({e, {}, statement, statement});
    }
    for (ir::expr i : e->indices) find_loads(i, statement, seen);
    for (ir::expr x : {e->a, e->b, e->c}) find_loads(x, statement, seen);
  }
  /// Whether a store to `to` may change what stands at `from`.
  static bool may_touch(element_place_in_row const& to, element_place_in_row const& from) {
    if (to.buf->alias_class != from.buf->alias_class) return false;
    return !to.beside(from) || to.constant == from.constant;
  }
  bool unchanged_before(found_load const& l) const {
    for (std::size_t i = 0; i < l.last; ++i)
      if (may_touch(targets_[i], l.at)) return false;
    return true;
  }
  bool is_aligned(element_place_in_row const& p, std::int64_t first, std::int64_t width) { return begins_at(m_, p, first, width); }
  ir::buffer* make_row(std::string const& name, ir::buffer const& like, std::int64_t width) {
    ir::buffer* const b = ir::own_buffer(f_, name, like, sequence<ir::expr>(1, ir::index(m_, width)));
    buffers_.push_back(b);
    return b;
  }
  sequence<ir::expr> lanes_from(element_place_in_row const& p, std::int64_t first, std::int64_t width) {
    return row_from(m_, p, first, width);
  }
  ir::stmt copied(ir::buffer const* to, sequence<ir::expr> const& at, ir::expr value) {
    ir::stmt_node n;
    n.kind = ir::stmt_kind::store;
    n.buf = to;
    n.indices = m_.make_list(at);
    n.value = value;
    return m_.make(n);
  }
  sequence<ir::expr> whole_row(std::int64_t width) {
    return sequence<ir::expr>(1, ir::ramp(m_, ir::index(m_, 0), 1, static_cast<int>(width)));
  }
  static std::int64_t aligned_down(std::int64_t v, std::int64_t by) { return v - ((v % by) + by) % by; }

  void widen_loads() {
    for (std::size_t i = 0; i < loads_.size(); ++i) {
      for (std::int64_t bytes = 16; bytes >= 4 && loads_[i].by == nullptr; bytes /= 2) {
        std::int64_t const width = bytes / size_bytes(loads_[i].e->type);
        if (width < 2 || loads_[i].at.dim < 0) break;
        widen_load(i, width);
      }
    }
  }
  void widen_load(std::size_t i, std::int64_t width) {
    element_place_in_row const p = loads_[i].at;
    sequence<std::size_t> members;
    for (std::int64_t shift = 0; shift < width; ++shift) {  // the row may begin at any multiple of the width in the address
      std::int64_t const begin = p.constant - shift;
      if (!is_aligned(p, begin, width)) continue;
      for (std::int64_t c = begin; c < begin + width; ++c)
        for (std::size_t k = 0; k < loads_.size(); ++k)
          if (loads_[k].by == nullptr && loads_[k].e->a == loads_[i].e->a && loads_[k].at.constant == c && loads_[k].at.beside(p) && unchanged_before(loads_[k]))
            members.push_back(k);
      if (members.size() != static_cast<std::size_t>(width)) return;
      ir::buffer const* const row = make_row(p.buf->name + "_row", *p.buf, width);
      ir::stmt const whole = copied(row, whole_row(width), ir::load(m_, p.buf, lanes_from(p, begin, width)));
      ir::expr const mask = loads_[i].e->a;
      for (std::int64_t l = 0; mask != nullptr && l < width; ++l)
        front_.push_back(copied(row, sequence<ir::expr>(1, ir::index(m_, l)), ir::literal(m_, p.buf->type, 0)));
      front_.push_back(mask == nullptr ? whole : ir::branch(m_, mask, whole));
      for (std::size_t k : members)
        loads_[k].by = ir::load(m_, row, sequence<ir::expr>(1, ir::index(m_, loads_[k].at.constant - begin)));
      return;
    }
  }
  /// Whether the stores from `from` on may as well be made behind the statement `to`: nobody asks for them before.
  bool may_wait(std::size_t from, std::size_t to) {
    for (sequence<found_load> const* all : {&loads_, &unplaced_})
      for (found_load const& l : *all) {
        if (l.by != nullptr || l.last <= from || l.first > to) continue;
        if (all == &unplaced_ ? l.e->buf->alias_class == targets_[from].buf->alias_class : may_touch(targets_[from], l.at))
          return false;
      }
    for (std::size_t i = from + 1; i <= to; ++i)
      if (may_touch(targets_[i], targets_[from])) return false;
    return true;
  }
  void widen_stores() {
    sequence<bool> done(row_.size(), false);
    for (std::size_t i = 0; i < row_.size(); ++i) {
      if (is_own(row_[i]->buf) || targets_[i].dim < 0) continue;
      for (std::int64_t bytes = 16; bytes >= 4 && !done[i]; bytes /= 2) {
        std::int64_t const width = bytes / size_bytes(row_[i]->buf->type);
        if (width < 2) break;
        widen_store(i, width, done);
      }
    }
  }
  void widen_store(std::size_t i, std::int64_t width, sequence<bool>& done) {
    element_place_in_row const p = targets_[i];
    for (std::int64_t shift = 0; shift < width; ++shift) {
      std::int64_t const begin = p.constant - shift;
      if (!is_aligned(p, begin, width)) continue;
      sequence<std::size_t> members;
      std::size_t last = 0;
      for (std::int64_t c = begin; c < begin + width; ++c)
        for (std::size_t k = 0; k < row_.size(); ++k)
          if (!done[k] && targets_[k].constant == c && targets_[k].beside(p)) members.push_back(k), last = k > last ? k : last;
      if (members.size() != static_cast<std::size_t>(width)) return;
      for (std::size_t k : members)
        if (!may_wait(k, last)) return;
      ir::buffer const* const row = make_row(p.buf->name + "_row", *p.buf, width);
      for (std::size_t k : members) {
        done[k] = true;
        row_[k] = copied(row, sequence<ir::expr>(1, ir::index(m_, targets_[k].constant - begin)), row_[k]->value);
      }
      behind_.push_back({last, copied(p.buf, lanes_from(p, begin, width), ir::load(m_, row, whole_row(width)))});
      return;
    }
  }
  class load_replacer final : public ir::rewriter {
   public:
    load_replacer(ir::arena& m, sequence<found_load> const& loads) : ir::rewriter(m), loads_(loads) {}

   protected:
    using ir::rewriter::replace;
    ir::expr replace(ir::expr e) override {
      if (e->kind != op::load) return nullptr;
      for (found_load const& l : loads_)
        if (l.e == e) return l.by;
      return nullptr;
    }

   private:
    sequence<found_load> const& loads_;
  };
  ir::stmt replaced(ir::stmt s) { return load_replacer(m_, loads_)(s); }

  ir::function& f_;
  ir::arena& m_;
  sequence<bool> const& own_;
  sequence<ir::stmt> row_, front_;
  sequence<element_place_in_row> targets_;
  sequence<found_load> loads_, unplaced_;
  sequence<ir::buffer const*> buffers_;
  sequence<late> behind_;
};

/// Asynchronous copies side by side become one of 16 bytes, or of 8 or 4; what is left that lies in less than 4 bytes is copied by
/// the thread.
class copy_widener {
 public:
  explicit copy_widener(ir::arena& m) : m_(m) {}
  void widen(sequence<ir::stmt> const& copies, sequence<ir::stmt>& all) {
    sequence<element_place_in_row> to, from;
    for (ir::stmt s : copies) {
      ir::expr const source = ir::copied(s->value);
      to.push_back(place_in_row(m_, s->buf, s->indices));
      from.push_back(place_in_row(m_, source->buf, source->indices));
    }
    sequence<bool> done(copies.size(), false);
    for (std::size_t i = 0; i < copies.size(); ++i) {
      std::int64_t const size = size_bytes(copies[i]->buf->type);
      for (std::int64_t width = 16 / size; !done[i] && width > 1 && width * size >= 4; width /= 2) {
        sequence<std::size_t> members(1, i);
        for (std::size_t k = 0; k < copies.size(); ++k) {
          auto const next = static_cast<std::int64_t>(members.size());
          bool const follows = to[k].beside(to[i]) && to[k].constant == to[i].constant + next && from[k].beside(from[i]) &&
                               from[k].constant == from[i].constant + next && same_condition(copies[k], copies[i]);
          if (next < width && !done[k] && follows) members.push_back(k), k = static_cast<std::size_t>(-1);
        }
        if (static_cast<std::int64_t>(members.size()) < width) continue;
        if (!begins_at(m_, to[i], to[i].constant, width) || !begins_at(m_, from[i], from[i].constant, width)) continue;
        for (std::size_t k : members) done[k] = true;
        all.push_back(row(copies[i], to[i], from[i], static_cast<int>(width)));
      }
      if (done[i]) continue;
      ir::stmt_node n = *copies[i];
      n.asynchronous = size >= 4;
      all.push_back(m_.make(n));
    }
  }

 private:
  static bool same_condition(ir::stmt a, ir::stmt b) {
    bool const selects = a->value->kind == op::select, too = b->value->kind == op::select;
    return same_truth(a->mask, b->mask) && selects == too && (!selects || same_truth(a->value->a, b->value->a)) &&
           same_truth(ir::copied(a->value)->a, ir::copied(b->value)->a);
  }
  /// Whether both hold at the same time: 8 * i + 3 < 64 and 8 * i + 5 < 64 both ask whether i is below 8.
  static bool same_truth(ir::expr a, ir::expr b) {
    if (a == b) return true;
    if (a == nullptr || b == nullptr || a->kind != b->kind) return false;
    if (a->kind == op::logical_and) return same_truth(a->a, b->a) && same_truth(a->b, b->b);
    if (a->kind != op::lt || a->lanes != 1 || a->a->type != dtype::i64 || b->lanes != 1 || b->a->type != dtype::i64) return false;
    linear x = linear_form(a->a), y = linear_form(b->a);
    x.add(linear_form(a->b), -1), y.add(linear_form(b->b), -1);
    linear apart = x;
    apart.add(y, -1);
    std::int64_t step = 0;
    for (linear::term const& t : x.terms) step = common_divisor(step, t.coefficient);
    return apart.terms.empty() && step > 0 && floor_div(x.constant, step) == floor_div(y.constant, step);
  }
  ir::stmt row(ir::stmt s, element_place_in_row const& to, element_place_in_row const& from, int width) {
    ir::expr const source = ir::copied(s->value);
    auto const wide = [&](ir::expr e) { return e == nullptr ? nullptr : ir::broadcast(m_, e, width); };
    ir::stmt_node n = *s;
    n.indices = m_.make_list(row_from(m_, to, to.constant, width));
    n.mask = wide(s->mask);
    n.value = ir::load(m_, source->buf, row_from(m_, from, from.constant, width), wide(source->a));
    if (s->value->kind == op::select)
      n.value = ir::ternary(m_, op::select, wide(s->value->a), n.value, ir::literal(m_, source->type, 0, width));
    return m_.make(n);
  }
  ir::arena& m_;
};

/// Where `condition` holds, each part of it does.
class known_to_hold final : public ir::rewriter {
 public:
  known_to_hold(ir::arena& m, ir::expr condition) : ir::rewriter(m) { note(condition); }

 protected:
  using ir::rewriter::replace;
  ir::expr replace(ir::expr e) override {
    for (ir::expr p : parts_)
      if (e == p) return ir::literal(m_, dtype::boolean, 1);
    return nullptr;
  }

 private:
  void note(ir::expr e) {
    if (e->kind == op::logical_and) return note(e->a), note(e->b);
    parts_.push_back(e);
  }
  sequence<ir::expr> parts_;
};

class wide_finder final : public ir::rewriter {
 public:
  explicit wide_finder(ir::function& f) : ir::rewriter(*f.nodes), f_(f) {}

 protected:
  using ir::rewriter::replace;
  ir::stmt replace(ir::stmt s) override {
    if (s->kind == ir::stmt_kind::tile) return s;
    if (s->kind == ir::stmt_kind::loop && is_thread(s->how)) {
      ++threads_;
      ir::stmt const same = children(s);
      --threads_;
      return same;
    }
    if (s->kind == ir::stmt_kind::allocate && threads_ > 0) {
      own_.resize(f_.buffers.size(), false);
      own_[static_cast<std::size_t>(s->buf->id)] = true;
      return nullptr;
    }
    if (s->asynchronous && size_bytes(s->buf->type) < 4) {  // alone
      ir::stmt_node n = *s;
      n.asynchronous = false;
      return m_.make(n);
    }
    if (s->kind != ir::stmt_kind::block || threads_ == 0) return nullptr;
    sequence<ir::stmt> all, row, copies;
    auto const end_of_row = [&] {
      if (!copies.empty()) copy_widener(m_).widen(copies, all);
      copies.clear();
      ir::stmt const wide = row.size() < 2 ? nullptr : row_widener(f_, own_).widened(row);
      if (wide != nullptr) all.push_back(wide);
      else all.insert(all.end(), row.begin(), row.end());
      row.clear();
    };
    for (ir::stmt c : in_branches(s->children)) {
      if (c->asynchronous) {
        if (!row.empty() || copies.size() == 256) end_of_row();
        copies.push_back(c);
        continue;
      }
      if (!copies.empty()) end_of_row();
      bool const plain = c->kind == ir::stmt_kind::store && c->mask == nullptr && c->value->lanes == 1 && row.size() < 256;
      if (plain) {
        row.push_back(c);
        continue;
      }
      end_of_row();
      all.push_back((*this)(c));
    }
    end_of_row();
    return ir::block(m_, all);
  }

 private:
  /// Stores behind one another that hang on the same condition stand in one branch.
  sequence<ir::stmt> in_branches(ir::list<ir::stmt> const& all) {
    auto const is_masked = [](ir::stmt s) {
      return s->kind == ir::stmt_kind::store && !s->asynchronous && s->mask != nullptr && s->value->lanes == 1 && s->mask->lanes == 1 && !ir::has_load(s->mask);
    };
    sequence<ir::stmt> out;
    for (std::size_t i = 0, end = 0; i < all.size(); i = end) {
      for (end = i + 1; is_masked(all[i]) && end < all.size() && is_masked(all[end]) && all[end]->mask == all[i]->mask;) ++end;
      if (end - i < 2) {
        out.push_back(all[i]);
        continue;
      }
      known_to_hold inside(m_, all[i]->mask);
      sequence<ir::stmt> bare;
      for (std::size_t k = i; k < end; ++k) {
        ir::stmt_node n = *all[k];
        n.mask = nullptr;
        bare.push_back(inside(m_.make(n)));
      }
      out.push_back(ir::branch(m_, all[i]->mask, ir::block(m_, bare)));
    }
    return out;
  }

  ir::function& f_;
  sequence<bool> own_;  // by buffer: a thread's
  int threads_ = 0;
};
inline bool has_copies(ir::stmt s) {
  if (s->asynchronous) return true;
  for (ir::stmt c : s->children)
    if (has_copies(c)) return true;
  return false;
}
/// Where no copy is left, there are no groups of them.
class group_remover final : public ir::rewriter {
 public:
  using ir::rewriter::rewriter;

 protected:
  using ir::rewriter::replace;
  ir::stmt replace(ir::stmt s) override {
    return s->kind == ir::stmt_kind::commit || s->kind == ir::stmt_kind::wait ? ir::block(m_, {}) : nullptr;
  }
};
}  // namespace detail

WEFT_DECL ir::stmt single_lanes(ir::function& f, ir::stmt s) { return detail::lane_writer(f)(s); }
WEFT_DECL ir::stmt wide_accesses(ir::function& f, ir::stmt s) {
  bool const copied = detail::has_copies(s);
  s = detail::wide_finder(f)(s);
  return copied && !detail::has_copies(s) ? detail::group_remover(*f.nodes)(s) : s;
}

}  // namespace weft::inline WEFT_ABI
