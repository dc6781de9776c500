#include "weft/pass/promote.hpp"
#include "weft/ir/own_memory.hpp"
#include "weft/ir/simplify.hpp"  // self_replacement

namespace weft::inline WEFT_ABI {
namespace detail {

inline bool is_update(ir::stmt s) {
  return s->kind == ir::stmt_kind::store || s->kind == ir::stmt_kind::accumulate;
}
inline bool same_element(ir::stmt a, ir::stmt b) {
  if (a->buf != b->buf || a->indices.size() != b->indices.size()) return false;
  for (std::size_t i = 0; i < a->indices.size(); ++i)
    if (a->indices[i] != b->indices[i]) return false;
  return true;
}
inline bool same_target(ir::stmt a, ir::stmt b) { return a->mask == b->mask && same_element(a, b); }
class read_finder final : public ir::rewriter {
 public:
  using ir::rewriter::rewriter;
  sequence<std::int32_t> classes;
  sequence<ir::expr> loads;

 protected:
  using ir::rewriter::replace;
  ir::expr replace(ir::expr e) override {
    if (e->kind == op::load) classes.push_back(e->buf->alias_class), loads.push_back(e);
    return nullptr;
  }
};
/// The alias classes of the memory that an update's value reads. Found once per update, not once per pair of them:
/// 128 x 128 unrolled sums took 1.8 s.
inline sequence<std::int32_t> classes_read(ir::arena& m, ir::stmt s) {
  read_finder f(m);
  f(s->value);
  if (s->before.size() > 0) f.classes.push_back(s->buf->alias_class);
  return static_cast<sequence<std::int32_t>&&>(f.classes);
}
inline bool reads_memory_of(sequence<std::int32_t> const& classes, ir::stmt writer) {
  for (std::int32_t c : classes)
    if (c == writer->buf->alias_class) return true;
  return false;
}

class promoter final : public ir::rewriter {
 public:
  explicit promoter(ir::function& f) : ir::rewriter(*f.nodes), f_(f) {}

 protected:
  using ir::rewriter::replace;
  ir::stmt replace(ir::stmt s) override {
    if (s->kind == ir::stmt_kind::tile) return s;
    if (s->kind == ir::stmt_kind::block) {
      sequence<ir::stmt> parts;
      for (ir::stmt c : merged(s)) parts.push_back((*this)(c));
      return ir::block(m_, parts);
    }
    if (s->kind == ir::stmt_kind::accumulate) return in_memory(s);
    if (s->kind == ir::stmt_kind::together) return in_memory_together(s);
    if (s->kind != ir::stmt_kind::loop) return nullptr;
    if (ir::stmt const parts = last_apart(s); parts != nullptr) return (*this)(parts);
    sequence<ir::stmt> updates, targets;
    sequence<std::int32_t> inner;
    sequence<ir::stmt> beside;
    if (is_concurrent(s->how) || !promotable(s, inner, updates, beside)) return nullptr;
    if (fits(updates, inner, beside, targets)) return where_it_runs(s, targets, inner, promoted(s, targets, inner));
    if (sequence<ir::stmt> ends; inner.size() == 1 && beside.empty() && is_carried(s, updates, ends)) return carried(s, updates, ends);
    return nullptr;
  }

 private:
  /// Updates of one element in memory become one, where nothing between them reads it; all others keep their order.
  sequence<ir::stmt> merged(ir::stmt block) {
    sequence<ir::stmt> out;
    sequence<sequence<std::int32_t>> reads;  // by position in `out`
    for (ir::stmt s : block->children) {
      std::size_t at = out.size();
      sequence<std::int32_t> const own = is_update(s) ? classes_read(m_, s) : sequence<std::int32_t>{};
      if (s->kind == ir::stmt_kind::accumulate && s->first.size() == 0 && s->before.size() == 0)
        for (std::size_t i = out.size(); i-- > 0;) {
          if (!is_update(out[i]) || reads_memory_of(reads[i], s) || reads_memory_of(own, out[i])) break;
          if (same_target(out[i], s)) {
            at = i;
            break;
          }
        }
      if (at == out.size()) {
        out.push_back(s);
        reads.push_back(own);
      } else {
        ir::stmt_node n = *out[at];
        n.value = self_replacement(m_, {n.value})(s->value);
        out[at] = m_.make(n);
        reads[at].insert(reads[at].end(), own.begin(), own.end());
      }
    }
    return out;
  }

  /// Whether nothing but stores stands in it, as of a stage that is computed in the loops of a sum: collects them.
  static bool only_stores(ir::stmt s, sequence<ir::stmt>* stores = nullptr) {
    if (s->kind == ir::stmt_kind::store && stores != nullptr) stores->push_back(s);
    if (s->kind == ir::stmt_kind::store) return true;
    bool const around = s->kind == ir::stmt_kind::block || s->kind == ir::stmt_kind::together || s->kind == ir::stmt_kind::branch || (s->kind == ir::stmt_kind::loop && !is_concurrent(s->how));
    for (ir::stmt c : s->children)
      if (!around || !only_stores(c, stores)) return false;
    return around;
  }
  /// Collects the updates below `s`, the variables of loops around them, and what is stored beside them; false when something else stands there.
  bool promotable(ir::stmt s, sequence<std::int32_t>& inner, sequence<ir::stmt>& updates, sequence<ir::stmt>& beside) const {
    if (only_stores(s)) return only_stores(s, &beside);
    switch (s->kind) {
      case ir::stmt_kind::accumulate: updates.push_back(s); return true;
      case ir::stmt_kind::loop:
        if (is_concurrent(s->how)) return false;
        inner.push_back(s->variable);
        return promotable(s->children[0], inner, updates, beside);
      case ir::stmt_kind::block:
      case ir::stmt_kind::together:
        for (ir::stmt c : s->children)
          if (!promotable(c, inner, updates, beside)) return false;
        return true;
      case ir::stmt_kind::branch: {
        // Both ways must lead to the same elements: one that is not reached may not be there to be written back.
        if (s->children.size() != 2) return false;
        std::size_t const before = updates.size();
        if (!promotable(s->children[0], inner, updates, beside)) return false;
        std::size_t const half = updates.size();
        return promotable(s->children[1], inner, updates, beside) && same_targets(updates, before, half, half, updates.size()) &&
               same_targets(updates, half, updates.size(), before, half);
      }
      default: return false;
    }
  }
  /// Whether each of the first updates has its target among the second ones.
  static bool same_targets(sequence<ir::stmt> const& all, std::size_t from, std::size_t to, std::size_t other_from,
                           std::size_t other_to) {
    for (; from < to; ++from) {
      std::size_t o = other_from;
      while (o < other_to && !same_target(all[from], all[o])) ++o;
      if (o == other_to) return false;
    }
    return true;
  }
  /// Whether each of the loops is one that the updates reduce over. Another one, whose variable need not be in the indices
  /// of a ring, stores an element for each of its iterations, and none if it has none. An update that never is the first
  /// stores what was there then: one more term beside another update, or of a reduction whose identity stands in memory.
  static bool reduces_over(sequence<ir::stmt> const& updates, sequence<std::int32_t> const& inner) {
    for (std::int32_t v : inner) {
      for (ir::stmt u : updates) {
        bool own = u->first.size() == 0;
        for (std::int32_t f : u->first) own = own || f == v;
        if (!own) return false;
      }
    }
    return true;
  }
  /// `targets`: the first update of each element. What is stored `beside` neither writes nor reads memory of theirs, and says of none which it is.
  bool fits(sequence<ir::stmt> const& updates, sequence<std::int32_t> const& inner, sequence<ir::stmt> const& beside, sequence<ir::stmt>& targets) {
    if (updates.empty() || !reduces_over(updates, inner)) return false;
    for (ir::stmt u : updates) {
      bool known = false;
      for (ir::stmt t : targets) known = known || same_target(t, u);
      if (!known) targets.push_back(u);
      if (targets.size() > 256) return false;
    }
    for (ir::stmt u : updates) {
      if (u->buf->where == ir::scope::registers || u->before.size() > 0) return false;
      for (std::int32_t v : inner) {
        for (ir::expr i : u->indices)
          if (ir::uses(i, v)) return false;
        if (ir::uses(u->mask, v)) return false;
      }
      sequence<std::int32_t> const reads = classes_read(m_, u);
      // Under two masks (the last tile of an unrolled reduction) an element would have two registers.
      for (ir::stmt w : targets)
        if (reads_memory_of(reads, w) || (w->mask != u->mask && same_element(u, w))) return false;
    }
    for (ir::stmt b : beside) {
      read_finder of_store(m_), of_target(m_);
      for (ir::expr e : {b->value, b->mask}) of_store(e);
      for (ir::expr i : b->indices) of_store(i);
      for (ir::stmt t : targets) {
        if (t->buf->alias_class == b->buf->alias_class || reads_memory_of(of_store.classes, t)) return false;
        of_target(t->mask);
        for (ir::expr i : t->indices) of_target(i);
      }
      if (reads_memory_of(of_target.classes, b)) return false;
    }
    return true;
  }
  /// True in the iteration in which all of `first` except `inner` stand at their begin; null: always.
  ir::expr is_first(ir::stmt u, sequence<std::int32_t> const& inner) {
    if (u->first.size() == 0) return ir::literal(m_, dtype::boolean, 0);
    ir::expr all = nullptr;
    for (std::int32_t v : u->first) {
      bool own = false;
      for (std::int32_t i : inner) own = own || i == v;
      if (!own) all = ir::all_of(m_, all, ir::binary(m_, op::eq, ir::variable(m_, v), begin_of(v)));
    }
    return all;
  }
  // Lowering starts every reduced loop at 0, and no pass moves it.
  ir::expr begin_of(std::int32_t) { return ir::index(m_, 0); }

  /// The element before this update: the identity at first, else what is in memory.
  ir::expr before(ir::stmt u, ir::expr first) { return before(u, first, ir::self_indices(u)); }
  ir::expr before(ir::stmt u, ir::expr first, ir::list<ir::expr> from, ir::expr wanted = nullptr) {
    int const lanes = u->value->lanes;
    ir::expr const identity = ir::broadcast(m_, u->identity, lanes);
    if (first == nullptr) return identity;
    ir::expr mask = ir::unary(m_, op::logical_not, first);
    mask = ir::all_of(m_, ir::all_of(m_, mask, u->mask), wanted);
    if (ir::is_literal(mask, 1)) mask = nullptr;
    sequence<ir::expr> const indices(from.begin(), from.end());
    ir::expr const stored = ir::broadcast(m_, ir::load(m_, u->buf, indices, mask), lanes);
    if (ir::is_literal(identity, 0)) return stored;  // what a masked load gives anyway
    return ir::ternary(m_, op::select, ir::broadcast(m_, first, lanes), identity, stored);
  }
  ir::stmt in_memory(ir::stmt u) {
    return store_of(u, self_replacement(m_, {before(u, is_first(u, {}))})(u->value));
  }
  ir::stmt store_of(ir::stmt u, ir::expr value) {
    ir::stmt_node n = *u;
    n.kind = ir::stmt_kind::store;
    n.value = value;
    n.identity = nullptr;
    n.first = {};
    n.before = {};
    return m_.make(n);
  }

  /// The values meet in registers, so that all of them are there before the first is stored.
  ir::stmt in_memory_together(ir::stmt s) {
    sequence<ir::expr> selves;
    if (s->children[0]->kind == ir::stmt_kind::accumulate)
      for (ir::stmt u : s->children) selves.push_back(before(u, is_first(u, {})));
    return through_registers(s, selves, [&](ir::stmt u, ir::expr value) { return sequence<ir::stmt>{store_of(u, value)}; });
  }
  /// The children's values, with `selves` for the elements so far, in registers of their own; then, by `store`, from
  /// there to where they belong.
  template <class Store>
  ir::stmt through_registers(ir::stmt together, sequence<ir::expr> const& selves, Store const& store) {
    sequence<ir::buffer const*> registers;
    sequence<ir::stmt> steps, stores;
    for (ir::stmt u : together->children) {
      registers.push_back(make_register(u));
      steps.push_back(register_store(registers.back(), self_replacement(m_, selves)(u->value)));
      for (ir::stmt one : store(u, ir::load(m_, registers.back(), {}))) stores.push_back(one);
    }
    for (ir::stmt s : stores) steps.push_back(s);
    return allocated(registers, ir::block(m_, steps));
  }
  ir::stmt register_store(ir::buffer const* to, ir::expr value) {
    ir::stmt_node n;
    n.kind = ir::stmt_kind::store;
    n.buf = to;
    n.value = value;
    return m_.make(n);
  }
  ir::stmt allocated(sequence<ir::buffer const*> const& registers, ir::stmt body) {
    for (std::size_t i = registers.size(); i-- > 0;) body = ir::allocated(m_, registers[i], body);
    return body;
  }

  ir::stmt promoted(ir::stmt loop, sequence<ir::stmt> const& targets, sequence<std::int32_t> const& inner) {
    sequence<ir::buffer const*> registers;
    sequence<ir::stmt> steps;
    for (ir::stmt t : targets) {
      registers.push_back(make_register(t));
      steps.push_back(register_store(registers.back(), before(t, is_first(t, inner))));
    }
    steps.push_back(with_registers(loop, targets, registers));
    for (std::size_t i = 0; i < targets.size(); ++i) steps.push_back(store_of(targets[i], ir::load(m_, registers[i], {})));
    return allocated(registers, ir::block(m_, steps));
  }
  /// An update that never is the first reads what was there before the loop. Of a folded stage no element is there where
  /// its loops have no iteration; `simplify` takes away what is known to have one.
  ir::stmt where_it_runs(ir::stmt loop, sequence<ir::stmt> const& targets, sequence<std::int32_t> const& inner, ir::stmt body) {
    bool reads = false;
    for (ir::stmt u : targets) reads = reads || u->first.size() == 0;
    ir::expr runs = nullptr;
    for (; reads && loop->kind == ir::stmt_kind::loop; loop = loop->children[0]) {
      bool known_outside = true;
      for (std::int32_t v : inner) known_outside = known_outside && !ir::uses(loop->extent, v);
      if (known_outside) runs = ir::all_of(m_, runs, ir::binary(m_, op::lt, ir::index(m_, 0), loop->extent));
    }
    if (runs == nullptr || ir::is_literal(runs, 1)) return body;
    return ir::branch(m_, runs, body);
  }
  /// The most values that are live at once, each from the first of the updates that reads it to the last one.
  /// `reads`: numbers below `count`, by update.
  static std::size_t pressure(sequence<std::size_t> const& order, sequence<sequence<std::size_t>> const& reads, std::size_t count) {
    sequence<std::size_t> first(count, order.size()), last(count, 0);
    for (std::size_t at = 0; at < order.size(); ++at)
      for (std::size_t value : reads[order[at]]) first[value] = first[value] < at ? first[value] : at, last[value] = at;
    sequence<std::ptrdiff_t> change(order.size() + 1, 0);
    for (std::size_t value = 0; value < count; ++value) ++change[first[value]], --change[last[value] + 1];
    std::ptrdiff_t live = 0, most = 0;
    for (std::ptrdiff_t c : change) live += c, most = most < live ? live : most;
    return static_cast<std::size_t>(most);
  }
  /// Updates of an unrolled reduction in the order of their schedule, or element by element, where fewer values are live then.
  ///
  ///     a += x[0] * w[0]    b += x[1] * w[0]    a += x[1] * w[1]    b += x[2] * w[1]         one w at a time, up to 2 x
  ///     a += x[0] * w[0]    a += x[1] * w[1]    b += x[1] * w[0]    b += x[2] * w[1]         both w, and 2 x
  sequence<ir::stmt> ordered(ir::stmt block, sequence<ir::stmt> const& targets) {
    sequence<ir::stmt> const given(block->children.begin(), block->children.end());
    sequence<sequence<std::size_t>> reads, of_target(targets.size());
    sequence<ir::expr> values;
    for (std::size_t i = 0; i < given.size(); ++i) {
      if (given[i]->kind != ir::stmt_kind::accumulate) return given;
      of_target[place_of(given[i], targets)].push_back(i);
      read_finder found(m_);
      found(given[i]->value);
      reads.emplace_back();
      for (ir::expr e : found.loads) {
        std::size_t at = 0;
        while (at < values.size() && values[at] != e) ++at;
        if (at == values.size()) values.push_back(e);
        reads.back().push_back(at);
      }
    }
    sequence<std::size_t> as_given, by_element;
    for (std::size_t i = 0; i < given.size(); ++i) as_given.push_back(i);
    for (sequence<std::size_t> const& own : of_target)
      for (std::size_t i : own) by_element.push_back(i);
    if (pressure(as_given, reads, values.size()) <= pressure(by_element, reads, values.size())) return given;
    sequence<ir::stmt> out;
    for (std::size_t i : by_element) out.push_back(given[i]);
    return out;
  }
  static std::size_t place_of(ir::stmt u, sequence<ir::stmt> const& targets) {
    std::size_t at = 0;
    while (!same_target(targets[at], u)) ++at;
    return at;
  }
  ir::stmt with_registers(ir::stmt s, sequence<ir::stmt> const& targets,
                          sequence<ir::buffer const*> const& registers) {
    if (only_stores(s)) return (*this)(s);
    if (s->kind == ir::stmt_kind::block) {
      sequence<ir::stmt> parts;
      for (ir::stmt c : ordered(s, targets)) parts.push_back(with_registers(c, targets, registers));
      return ir::block(m_, parts);
    }
    if (s->kind == ir::stmt_kind::loop)
      return ir::loop_like(m_, s, s->begin, s->extent, with_registers(s->children[0], targets, registers));
    if (s->kind == ir::stmt_kind::branch)
      return ir::branch(m_, s->value, with_registers(s->children[0], targets, registers),
                        with_registers(s->children[1], targets, registers));
    auto const register_of = [&](ir::stmt u) { return registers[place_of(u, targets)]; };
    if (s->kind == ir::stmt_kind::accumulate) {
      ir::buffer const* const own = register_of(s);
      return register_store(own, self_replacement(m_, {ir::load(m_, own, {})})(s->value));
    }
    sequence<ir::expr> selves;
    for (ir::stmt u : s->children) selves.push_back(ir::load(m_, register_of(u), {}));
    return through_registers(
        s, selves, [&](ir::stmt u, ir::expr value) { return sequence<ir::stmt>{register_store(register_of(u), value)}; });
  }

  // --- scans ------------------------------------------------------------------------------------------------------
  /// A loop with steps of a scan whose last iteration alone goes another way, as the last part of a split does: that way stands behind the
  /// loop, since a branch in it would keep the value in memory. Null: it is another loop.
  ///
  ///     for v in 0..n: if v * 16 + 15 < size: A else: B    ->    for v in 0..n-1: A    for v in n-1..n: B
  ir::stmt last_apart(ir::stmt s) {
    ir::stmt const way = s->children[0];
    if (is_concurrent(s->how) || way->kind != ir::stmt_kind::branch || way->children.size() != 2 || !has_scan(way)) return nullptr;
    if (!ir::is_literal(s->begin, 0) || s->extent->kind != op::literal || s->extent->value < 2) return nullptr;
    ir::expr const asked = way->value;
    if (asked->kind != op::lt || asked->lanes > 1 || asked->b->kind != op::literal || !is_affine(asked->a)) return nullptr;
    std::int64_t const last = s->extent->value - 1;
    auto const holds = [&](std::int64_t v) { return simplify(m_, ir::substitute(m_, asked, s->variable, ir::index(m_, v))); };
    if (!ir::is_literal(holds(0), 1) || !ir::is_literal(holds(last - 1), 1) || !ir::is_literal(holds(last), 0)) return nullptr;
    return ir::block(m_, sequence<ir::stmt>{ir::loop_like(m_, s, s->begin, ir::index(m_, last), way->children[0]),
                                            ir::loop_like(m_, s, ir::index(m_, last), ir::index(m_, 1), way->children[1])});
  }
  static bool has_scan(ir::stmt s) {
    bool found = s->kind == ir::stmt_kind::accumulate && s->before.size() > 0;
    for (ir::stmt c : s->children) found = found || has_scan(c);
    return found;
  }
  static bool is_affine(ir::expr e) {
    if (e->kind == op::add || e->kind == op::sub) return is_affine(e->a) && is_affine(e->b);
    if (e->kind == op::mul) return e->b->kind == op::literal && is_affine(e->a);
    return e->kind == op::axis || e->kind == op::literal;
  }
  /// Whether each update in the loop comes after an earlier one there, or after the last of such a chain in the iteration
  /// before. `ends`: the last update of each chain.
  bool is_carried(ir::stmt loop, sequence<ir::stmt> const& updates, sequence<ir::stmt>& ends) {
    sequence<ir::stmt> heads;
    if (updates.empty() || updates.size() > 64 || has_branch(loop) || !ir::is_literal(loop->begin, 0)) return false;
    for (ir::stmt u : updates) {
      if (u->before.size() == 0 || ir::uses(u->mask, loop->variable) || u->buf->where == ir::scope::registers) return false;
      std::size_t chain = 0;
      while (chain < ends.size() && !comes_after(u, ends[chain], nullptr)) ++chain;
      if (chain == ends.size()) heads.push_back(u), ends.push_back(u);
      ends[chain] = u;
    }
    for (std::size_t c = 0; c < ends.size(); ++c)
      if (!comes_after(heads[c], ends[c], loop)) return false;
    return true;
  }
  static bool has_branch(ir::stmt s) {
    bool found = s->kind == ir::stmt_kind::branch;
    for (ir::stmt c : s->children) found = found || has_branch(c);
    return found;
  }
  /// With a loop: after what `end` was in its iteration before.
  bool comes_after(ir::stmt u, ir::stmt end, ir::stmt loop) {
    if (u->buf != end->buf || u->mask != end->mask || u->value->lanes != end->value->lanes) return false;
    for (std::size_t d = 0; d < u->indices.size(); ++d) {
      ir::expr at = end->indices[d];
      if (loop != nullptr) {
        ir::expr const earlier = ir::binary(m_, op::sub, ir::variable(m_, loop->variable), ir::index(m_, 1));
        at = ir::substitute(m_, at, loop->variable, earlier);
      }
      if (at != u->before[d] && simplify(m_, at) != simplify(m_, u->before[d])) return false;
    }
    return true;
  }
  /// A register for each chain, which has what the element before the loop holds.
  ir::stmt carried(ir::stmt loop, sequence<ir::stmt> const& updates, sequence<ir::stmt> const& ends) {
    sequence<ir::buffer const*> registers(ends.size(), nullptr), own;  // own: by update
    sequence<ir::stmt> steps, last;
    for (ir::stmt u : updates) {
      std::size_t chain = 0;
      while (chain < last.size() && !comes_after(u, last[chain], nullptr)) ++chain;
      if (chain == last.size()) {
        last.push_back(u);
        registers[chain] = make_register(u);
        sequence<ir::expr> from;
        for (ir::expr i : u->before) from.push_back(ir::substitute(m_, i, loop->variable, loop->begin));
        // A loop that runs no time may stand where there is no element before.
        ir::expr const runs = ir::binary(m_, op::lt, ir::index(m_, 0), loop->extent);
        ir::expr const first = before(u, is_first(u, {loop->variable}), m_.make_list(from), runs);
        steps.push_back(register_store(registers[chain], first));
      }
      last[chain] = u;
      own.push_back(registers[chain]);
    }
    std::size_t next = 0;  // of the updates, in their order
    steps.push_back(ir::loop_like(m_, loop, loop->begin, loop->extent, carrying(loop->children[0], own, next)));
    return allocated(registers, ir::block(m_, steps));
  }
  ir::stmt carrying(ir::stmt s, sequence<ir::buffer const*> const& own, std::size_t& next) {
    if (s->kind == ir::stmt_kind::block) {
      sequence<ir::stmt> parts;
      for (ir::stmt c : s->children) parts.push_back(carrying(c, own, next));
      return ir::block(m_, parts);
    }
    std::size_t const first = next;
    sequence<ir::expr> selves;
    for (std::size_t i = 0; i < (s->kind == ir::stmt_kind::together ? s->children.size() : 1); ++i)
      selves.push_back(ir::load(m_, own[next++], {}));
    if (s->kind == ir::stmt_kind::accumulate) {
      ir::stmt const kept = register_store(own[first], self_replacement(m_, selves)(s->value));
      return ir::block(m_, sequence<ir::stmt>{kept, store_of(s, ir::load(m_, own[first], {}))});
    }
    std::size_t child = first;
    return through_registers(s, selves, [&](ir::stmt u, ir::expr value) {
      return sequence<ir::stmt>{register_store(own[child++], value), store_of(u, value)};
    });
  }
  ir::buffer const* make_register(ir::stmt u) {
    return ir::own_register(f_, "acc" + std::to_string(f_.buffers.size()), u->buf->type, u->value->lanes);
  }

  ir::function& f_;
};
}  // namespace detail

WEFT_DECL ir::stmt promote(ir::function& f, ir::stmt s) { return detail::promoter(f)(s); }

}  // namespace weft::inline WEFT_ABI
