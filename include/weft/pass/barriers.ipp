#include "weft/base/error.hpp"
#include "weft/ir/linear.hpp"
#include "weft/ir/print.hpp"
#include "weft/ir/simplify.hpp"
#include "weft/pass/barriers.hpp"
#include "weft/pass/thread_tree.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

/// What an index tells of a thread: (index / unit - first) % (period / unit) in that dimension is a number of the thread.
struct thread_digit {
  int dim = -1;  // -1: it tells nothing
  std::int64_t unit = 1, period = 0, first = 0;  // period 0: no remainder is taken
  std::int64_t count = 1;  // of threads
  bool stays_below(std::int64_t limit) const { return period == 0 && (first + count) * unit <= limit; }
  bool agrees(thread_digit const& o) const {
    bool const same_period = period == o.period || stays_below(o.period) || o.stays_below(period);
    return dim >= 0 && dim == o.dim && unit == o.unit && first == o.first && same_period;
  }
  /// Whether no element has a number of both.
  bool is_apart(thread_digit const& o) const {
    std::int64_t const between = first < o.first ? o.first - first : first - o.first;
    bool const alike = dim >= 0 && dim == o.dim && unit == o.unit && period == o.period;
    return alike && between >= (first < o.first ? count : o.count);
  }
};
/// Which thread along an axis touches an element.
struct axis_owner {
  bool fixed = false;  // one thread does, whatever the element is
  std::int64_t thread = 0;
  std::int64_t by = 0;
  thread_digit whole, quotient, remainder;  // of its number, or of the number by `by` and the rest
  bool agrees(axis_owner const& o) const {
    if (fixed || o.fixed) return fixed && o.fixed && thread == o.thread;
    return whole.agrees(o.whole) || (by == o.by && quotient.agrees(o.quotient) && remainder.agrees(o.remainder));
  }
};
struct thread_access {
  ir::buffer const* buf = nullptr;
  bool writes = false;
  ir::list<ir::expr> indices;
  bool by_warp = false;  // which of its lanes has which element is not known
  axis_owner owners[3];
  // Of memory in turns: in dimension `turn_dim` the index is turn % turns. Null: nothing is known of that.
  ir::expr turn = nullptr;
  std::int64_t turns = 0;
  int turn_dim = -1;
  bool later = false;  // of an asynchronous store: for others it is there from the wait on
};

class barrier_placer {
 public:
  explicit barrier_placer(ir::function& f) : f_(f), m_(*f.nodes) {}
  /// A statement of the body: its threads' part gets barriers.
  ir::stmt launch(ir::stmt s) {
    if (s->kind == ir::stmt_kind::loop && (is_block(s->how) || is_thread(s->how))) {
      range_table::entry const before = ranges_.known(s->variable);
      ranges_.set(s->variable, s->begin, s->extent);
      if (is_thread(s->how)) axes_.push_back(s);
      ir::stmt const body = launch(s->children[0]);
      if (is_thread(s->how)) axes_.pop_back();
      ranges_.set(s->variable, before);
      return ir::loop_like(m_, s, s->begin, s->extent, body);
    }
    if (s->kind == ir::stmt_kind::allocate && axes_.empty()) {
      ir::stmt_node n = *s;
      n.children = m_.make_list(sequence<ir::stmt>(1, launch(s->children[0])));
      return m_.make(n);
    }
    if (axes_.empty()) return s;
    accesses_before before;
    note_written(s);
    find_copied(s);
    return placed(s, before);
  }

 private:
  // --- who touches what
  bool is_axis(ir::expr e) const {
    for (ir::stmt a : axes_)
      if (e->kind == op::axis && e->value == a->variable) return true;
    return false;
  }
  thread_digit digit_in(ir::expr index, int dim, ir::expr number, std::int64_t count) {
    std::int64_t lanes = 0;
    if (index->kind == op::ramp) {
      lanes = index->value * (index->lanes - 1);
      index = index->a;
    }
    if (index->lanes != 1 || lanes < 0) return {};
    linear const form = linear_form(index);
    linear low;
    low.constant = form.constant;
    thread_digit d;
    bool found = false;
    for (linear::term const& t : form.terms)
      if (t.atom == number && t.coefficient > 0) found = true, d.unit = t.coefficient;
    if (!found) return {};
    for (linear::term const& t : form.terms) {
      if (t.atom == number) continue;
      std::int64_t const size = t.coefficient < 0 ? -t.coefficient : t.coefficient;
      if (size < d.unit) low.add(t.atom, t.coefficient);
      else d.period = common_divisor(d.period, size);
    }
    if (d.period != 0) low.constant = ((low.constant % d.period) + d.period) % d.period;
    interval const rest = ranges_.of(rebuild(m_, low));
    if (rest.low <= -interval::unbounded || rest.high >= interval::unbounded) return {};
    d.first = rest.low >= 0 ? rest.low / d.unit : -1;
    if (d.first < 0 || rest.high + lanes >= (d.first + 1) * d.unit) return {};
    if (d.period != 0 && (d.period % d.unit != 0 || d.period < (d.first + count) * d.unit)) return {};
    d.dim = dim;
    d.count = count;
    return d;
  }
  thread_digit digit_of(ir::list<ir::expr> indices, ir::expr number, std::int64_t count) {
    for (std::size_t d = 0; d < indices.size(); ++d)
      if (thread_digit const r = digit_in(indices[d], static_cast<int>(d), number, count); r.dim >= 0) return r;
    return {};
  }
  /// By which literal an index divides the number of a thread; 0: by none.
  std::int64_t divisor_of(ir::list<ir::expr> indices, ir::expr number) {
    for (ir::expr i : indices)
      for (linear::term const& t : linear_form(i->kind == op::ramp ? i->a : i).terms) {
        bool const divides = t.atom->kind == op::floor_div || t.atom->kind == op::floor_mod;
        if (divides && t.atom->a == number && t.atom->b->kind == op::literal) return t.atom->b->value;
      }
    return 0;
  }
  void note(ir::buffer const* b, ir::list<ir::expr> indices, bool writes, sequence<thread_access>& all, bool later = false) {
    if (!is_shared(b)) return;
    thread_access a{b, writes, indices, tiles_ > 0, {}};
    a.later = later;
    for (std::size_t d = 0; d < indices.size(); ++d)
      if (ir::expr const i = indices[d]; i->kind == op::floor_mod && i->lanes == 1 && i->b->kind == op::literal && i->b->value > 0 && a.turn == nullptr)
        a.turn = i->a, a.turns = i->b->value, a.turn_dim = static_cast<int>(d);
    for (std::size_t i = 0; i < axes_.size(); ++i) {
      axis_owner& o = a.owners[i];
      std::int64_t const count = limit_[i] < axes_[i]->extent->value ? limit_[i] : axes_[i]->extent->value;
      ir::expr const number = ir::variable(m_, axes_[i]->variable);
      if (fixed_[i] >= 0) o.fixed = true, o.thread = fixed_[i];
      o.whole = digit_of(indices, number, count);
      o.by = divisor_of(indices, number);
      if (o.by == 0) continue;
      ir::expr const by = ir::index(m_, o.by);
      o.quotient = digit_of(indices, ir::binary(m_, op::floor_div, number, by), (count + o.by - 1) / o.by);
      o.remainder = digit_of(indices, ir::binary(m_, op::floor_mod, number, by), o.by);
    }
    for (thread_access const& known : all)
      if (same(known, a)) return;
    all.push_back(a);
  }
  static bool same(thread_access const& a, thread_access const& b) {
    if (a.buf != b.buf || a.writes != b.writes || a.by_warp != b.by_warp || a.turn != b.turn || a.later != b.later) return false;
    for (std::size_t d = 0; d < a.indices.size(); ++d)
      if (a.indices[d] != b.indices[d]) return false;
    for (std::size_t i = 0; i < 3; ++i)
      if (a.owners[i].whole.count != b.owners[i].whole.count || a.owners[i].fixed != b.owners[i].fixed || a.owners[i].thread != b.owners[i].thread) return false;
    return true;
  }
  /// Whether one of them is in another turn than the other one: copy (k + 2) % 3 and copy k % 3.
  bool in_other_turns(thread_access const& a, thread_access const& b) const {
    if (a.turn == nullptr || b.turn == nullptr || a.turn_dim != b.turn_dim || a.turns != b.turns) return false;
    linear const apart = linear_form(ir::binary(m_, op::sub, a.turn, b.turn));
    return apart.terms.empty() && apart.constant % a.turns != 0;
  }
  /// Of those in shared memory, by their places.
  bool have_common_bytes(ir::buffer const* a, ir::buffer const* b) const {
    if (a->alias_class == b->alias_class) return true;
    std::int64_t const from = f_.shared_place(a), other = f_.shared_place(b);
    return from >= 0 && other >= 0 && from < other + ir::shared_bytes_of(b) && other < from + ir::shared_bytes_of(a);
  }
  bool conflict(thread_access const& a, thread_access const& b) const {
    if (!(a.writes || b.writes) || !have_common_bytes(a.buf, b.buf)) return false;
    if (a.buf == b.buf && in_other_turns(a, b)) return false;
    for (std::size_t i = 0; i < axes_.size() && a.buf == b.buf; ++i)
      if (a.owners[i].whole.is_apart(b.owners[i].whole)) return false;
    if (a.by_warp || b.by_warp) return true;
    for (std::size_t i = 0; i < axes_.size(); ++i) {
      bool const one_thread = a.owners[i].fixed && b.owners[i].fixed;
      if (!(one_thread || a.buf == b.buf) || !a.owners[i].agrees(b.owners[i])) return true;
    }
    return false;
  }
  bool conflict(sequence<thread_access> const& before, sequence<thread_access> const& after) const {
    for (thread_access const& a : before)
      for (thread_access const& b : after)
        if (conflict(a, b)) return true;
    return false;
  }
  /// Memory that more than one thread can reach, and that this launch writes.
  bool is_shared(ir::buffer const* b) const {
    if (b->where == ir::scope::registers) return false;
    auto const id = static_cast<std::size_t>(b->id);
    if (id < own_.size() && own_[id]) return false;
    for (std::int32_t c : written_)
      if (c == b->alias_class) return true;
    return false;
  }
  void note_written(ir::stmt s) {
    if (s->kind == ir::stmt_kind::allocate) {
      own_.resize(f_.buffers.size(), false);
      own_[static_cast<std::size_t>(s->buf->id)] = s->buf->where == ir::scope::stack;
    } else if (s->buf != nullptr) {
      written_.push_back(s->buf->alias_class);
    }
    for (ir::stmt c : s->children) note_written(c);
  }
  /// What asynchronous stores write: seen from where they are waited for, as their thread's stores of then, of any turn.
  void find_copied(ir::stmt s) {
    sequence<thread_access> all;
    accesses(s, all);
    for (thread_access a : all) {
      if (!a.later) continue;
      a.later = false, a.turn = nullptr;
      append(copied_, sequence<thread_access>(1, a));
    }
  }
  void reads(ir::expr e, sequence<thread_access>& all, sequence<bool>& seen) {
    if (e == nullptr) return;
    if (seen.size() <= e->id) seen.resize(e->id + 256, false);
    if (seen[e->id]) return;
    seen[e->id] = true;
    if (e->kind == op::load) note(e->buf, e->indices, false, all);
    for (ir::expr i : e->indices) reads(i, all, seen);
    for (ir::expr x : {e->a, e->b, e->c}) reads(x, all, seen);
  }
  void accesses(ir::stmt s, sequence<thread_access>& all) {
    sequence<bool> seen;
    for (ir::expr e : {s->begin, s->extent, s->value, s->mask, s->identity}) reads(e, all, seen);
    for (ir::list<ir::expr> const* list : {&s->indices, &s->before})
      for (ir::expr e : *list) reads(e, all, seen);
    bool const accumulate = s->kind == ir::stmt_kind::accumulate;
    if (accumulate) note(s->buf, ir::self_indices(s), false, all);
    if (accumulate || s->kind == ir::stmt_kind::store || s->kind == ir::stmt_kind::exchange) note(s->buf, s->indices, true, all, s->asynchronous);
    std::int64_t before[3], limits[3];
    for (int i = 0; i < 3; ++i) before[i] = fixed_[i], limits[i] = limit_[i];
    bool const loop = s->kind == ir::stmt_kind::loop;
    tiles_ += s->kind == ir::stmt_kind::tile;
    range_table::entry const range = loop ? ranges_.known(s->variable) : range_table::entry{};
    if (loop) ranges_.set(s->variable, s->begin, s->extent);
    for (std::size_t c = 0; c < s->children.size(); ++c) {
      if (s->kind == ir::stmt_kind::branch && c == 0) fix(s->value);
      accesses(s->children[c], all);
      for (int i = 0; i < 3; ++i) fixed_[i] = before[i], limit_[i] = limits[i];
    }
    if (loop) ranges_.set(s->variable, range), forget_turns(all, s->variable);
    tiles_ -= s->kind == ir::stmt_kind::tile;
  }
  /// Behind a loop nothing is known of which iteration it was.
  static void forget_turns(sequence<thread_access>& all, std::int32_t variable) {
    for (thread_access& a : all)
      if (a.turn != nullptr && ir::uses(a.turn, variable)) a.turn = nullptr;
  }
  /// As seen from the iteration behind the one in which they were made.
  void pass_turn(sequence<thread_access>& all, std::int32_t variable) {
    for (thread_access& a : all)
      if (a.turn != nullptr && ir::uses(a.turn, variable))
        a.turn = ir::substitute(m_, a.turn, variable, ir::binary(m_, op::sub, ir::variable(m_, variable), ir::index(m_, 1)));
  }
  /// What a condition says of the threads that may go on.
  void fix(ir::expr condition) {
    if (condition->kind == op::logical_and || condition->kind == op::bit_and) return fix(condition->a), fix(condition->b);
    if ((condition->kind == op::lt || condition->kind == op::le) && condition->b->kind == op::literal) {
      std::int64_t const count = condition->b->value + (condition->kind == op::le ? 1 : 0);
      if (count == 1) fix(condition->a, 0);  // as simplify may write t == 0
      for (std::size_t i = 0; i < axes_.size(); ++i)
        if (condition->a->kind == op::axis && condition->a->value == axes_[i]->variable && count < limit_[i]) limit_[i] = count;
      return;
    }
    if (condition->kind != op::eq) return;
    ir::expr const a = condition->a, b = condition->b;
    if (b->kind == op::literal) fix(a, b->value);
    else if (a->kind == op::literal) fix(b, a->value);
  }
  void fix(ir::expr number, std::int64_t value) {
    for (std::size_t i = 0; i < axes_.size(); ++i)
      if (number->kind == op::axis && number->value == axes_[i]->variable) fixed_[i] = value;
  }

  // --- where they wait
  bool is_uniform(ir::expr e) const { return e == nullptr || (!hangs_on_threads(e) && !ir::has_load(e)); }
  bool hangs_on_threads(ir::expr e) const {
    for (ir::stmt a : axes_)
      if (ir::uses(e, a->variable)) return true;
    return false;
  }
  static bool has_barrier(ir::stmt s) {
    if (s->kind == ir::stmt_kind::barrier || s->kind == ir::stmt_kind::exchange) return true;
    for (ir::stmt c : s->children)
      if (has_barrier(c)) return true;
    return false;
  }
  /// What threads may have touched: in front of the last place where they might wait for each other, and since then. Of
  /// the latter, each element is one thread's: it is done in one loop over threads, whose iterations are independent.
  struct accesses_before {
    sequence<thread_access> pending, current;
  };
  /// Whether some of them are new.
  static bool append(sequence<thread_access>& all, sequence<thread_access> const& more) {
    std::size_t const before = all.size();
    for (thread_access const& a : more) {
      bool known = false;
      for (thread_access const& b : all) known = known || same(a, b);
      if (!known) all.push_back(a);
    }
    return all.size() > before;
  }
  static int count_of_barriers(ir::stmt s) {
    int n = s->kind == ir::stmt_kind::barrier;
    for (ir::stmt c : s->children) n += count_of_barriers(c);
    return n;
  }
  /// `s` with those barriers inside that are needed, and one in front of it where it clashes with what is pending.
  ir::stmt placed(ir::stmt s, accesses_before& before) {
    if (s->kind == ir::stmt_kind::barrier) {
      append(before.pending, before.current);
      before.current.clear();
      return ir::block(m_, {});
    }
    if (s->kind == ir::stmt_kind::wait) {
      append(before.current, copied_);
      return s;
    }
    if (s->kind == ir::stmt_kind::block) {
      sequence<ir::stmt> all;
      for (ir::stmt c : s->children) all.push_back(placed(c, before));
      return ir::block(m_, all);
    }
    if (s->kind == ir::stmt_kind::allocate) {
      ir::stmt_node n = *s;
      n.children = m_.make_list(sequence<ir::stmt>(1, placed(s->children[0], before)));
      return m_.make(n);
    }
    sequence<thread_access> own;
    accesses(s, own);
    bool const waits = conflict(before.pending, own);
    bool const runs_alike = s->kind == ir::stmt_kind::loop && is_uniform(s->begin) && is_uniform(s->extent);
    if (waits && runs_alike) {
      // One that is inside anyway, for what an iteration leaves for the next one, may do for what was there before, too.
      accesses_before outside, inside = before;
      ir::stmt const after = loop(s, own, outside), as_it_is = loop(s, own, inside);
      bool const spared = count_of_barriers(as_it_is) <= count_of_barriers(after);
      before = spared ? inside : outside;
      return spared ? as_it_is : ir::block(m_, sequence<ir::stmt>{waiting(m_), after});
    }
    if (waits) before = {};
    ir::stmt r = s;
    if (runs_alike) {
      r = loop(s, own, before);
    } else if (s->kind == ir::stmt_kind::branch && is_uniform(s->value)) {
      r = branch(s, before);
    } else {
      if (s->kind != ir::stmt_kind::exchange && has_barrier(s)) WEFT_THROW(internal_error("barriers: threads would wait where not all of them come\n" + ir::print(s, f_)));
      for (thread_access const& a : own)
        if (!a.later) append(before.current, sequence<thread_access>(1, a));
    }
    return waits ? ir::block(m_, sequence<ir::stmt>{waiting(m_), r}) : r;
  }
  ir::stmt loop(ir::stmt s, sequence<thread_access> const& own, accesses_before& before) {
    range_table::entry const range = ranges_.known(s->variable);
    ranges_.set(s->variable, s->begin, s->extent);
    accesses_before at_begin = before, end = before;
    ir::stmt body = placed(s->children[0], end);
    // The next iteration meets what this one has left, beside what was there before the loop. What no barrier takes away comes
    // back, each time one turn older: until that is nothing new.
    for (int round = 0; round < 8; ++round) {
      pass_turn(end.pending, s->variable), pass_turn(end.current, s->variable);
      if (round == 7) forget_turns(end.pending, s->variable), forget_turns(end.current, s->variable);
      if (!conflict(end.pending, own) || !append(at_begin, end)) break;
      end = at_begin;
      body = placed(s->children[0], end);
    }
    forget_turns(end.pending, s->variable), forget_turns(end.current, s->variable);
    append(before, end);
    ranges_.set(s->variable, range);
    if (body->kind == ir::stmt_kind::block && body->children.size() == 0) return body;
    return ir::loop_like(m_, s, s->begin, s->extent, body);
  }
  ir::stmt branch(ir::stmt s, accesses_before& before) {
    accesses_before other = before;
    ir::stmt const then = placed(s->children[0], before);
    ir::stmt const otherwise = s->children.size() > 1 ? placed(s->children[1], other) : nullptr;
    append(before, other);
    return ir::branch(m_, s->value, then, otherwise);
  }
  static bool append(accesses_before& all, accesses_before const& more) {
    bool const pending = append(all.pending, more.pending);
    return append(all.current, more.current) || pending;
  }

  ir::function& f_;
  ir::arena& m_;
  range_table ranges_;
  sequence<ir::stmt> axes_;  // the loops over threads around
  sequence<std::int32_t> written_;  // alias classes
  sequence<thread_access> copied_;  // by asynchronous stores
  sequence<bool> own_;  // by buffer: each thread has its own
  int tiles_ = 0;  // around what is looked at
  std::int64_t fixed_[3] = {-1, -1, -1}, limit_[3] = {1024, 1024, 1024};  // what conditions around say of threads
};

}  // namespace detail

WEFT_DECL ir::stmt needed_barriers(ir::function& f, ir::stmt body) {
  if (body->kind == ir::stmt_kind::block) {
    sequence<ir::stmt> all;
    for (ir::stmt c : body->children) all.push_back(needed_barriers(f, c));
    return ir::block(*f.nodes, all);
  }
  return detail::barrier_placer(f).launch(body);
}

}  // namespace weft::inline WEFT_ABI
