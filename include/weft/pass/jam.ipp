#include "weft/ir/linear.hpp"
#include "weft/ir/own_memory.hpp"
#include "weft/ir/simplify.hpp"
#include "weft/pass/jam.hpp"
#include "weft/pass/left_out.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

/// What is read or written, and whether in the loop that is to be one with others.
struct jam_access {
  ir::buffer const* buf;
  ir::list<ir::expr> indices;
  bool written, inside;
};
/// A statement that has a loop of the group: `condition` asks whether it runs (null: always), `before` and `behind` stand around the loop, where `memory` exists.
struct jam_part {
  ir::expr condition = nullptr;
  ir::stmt loop = nullptr;
  sequence<ir::buffer const*> memory{}, inner_memory{};
  sequence<ir::stmt> before{}, behind{};
  sequence<jam_access> accesses{};
  sequence<std::int32_t> variables{};  // of its loops
};
/// What is asked for in loops inside of a joined one, in words of its variable.
class renamed_requests final : public ir::rewriter {
 public:
  renamed_requests(ir::arena& m, std::int32_t from, std::int32_t to) : ir::rewriter(m), from_(from), to_(to) {}

 protected:
  using ir::rewriter::replace;
  ir::stmt replace(ir::stmt s) override {
    bool named = false;
    for (ir::prefetched const& p : s->ahead) named = named || p.of == from_ || p.turn == from_;
    if (!named) return nullptr;
    sequence<ir::prefetched> ahead(s->ahead.begin(), s->ahead.end());
    for (ir::prefetched& p : ahead) {
      if (p.of == from_) p.of = to_;
      if (p.turn == from_) p.turn = to_;
    }
    ir::stmt_node n = *s;
    n.ahead = m_.make_list(ahead);
    n.children = m_.make_list(sequence<ir::stmt>{(*this)(s->children[0])});
    return m_.make(n);
  }

 private:
  std::int32_t from_, to_;
};

/// Whether a loop of a group stands in it.
inline bool has_jam(ir::stmt s) {
  if (s->jam != 0) return true;
  for (ir::stmt c : s->children)
    if (has_jam(c)) return true;
  return false;
}

class jammed_loops final : public ir::rewriter {
 public:
  explicit jammed_loops(ir::function& f) : ir::rewriter(*f.nodes) {}

 protected:
  using ir::rewriter::replace;
  ir::stmt replace(ir::stmt s) override {
    if (s->kind != ir::stmt_kind::loop) return nullptr;
    if (s->jam == 0)
      if (ir::stmt const one = around(s)) return one;
    return s->jam == 0 ? nullptr : without_mark(s);
  }

 private:
  ir::stmt without_mark(ir::stmt s) {
    ir::stmt_node n = *s;
    n.jam = 0;
    n.children = m_.make_list(sequence<ir::stmt>{(*this)(s->children[0])});
    return m_.make(n);
  }
  /// The loop with one in place of those of a group that stand in it, and behind it its last iterations; null: there is none, or it cannot be.
  ir::stmt around(ir::stmt host) {
    sequence<jam_part> parts;
    if (!has_jam(host->children[0]) || ir::has_load(host->begin) || ir::has_load(host->extent)) return nullptr;
    if (!take_parts(host->children[0], nullptr, parts) || parts.size() < 2 || !are_alike(parts) || !are_apart(parts)) return nullptr;
    ir::expr const begin = host->begin, end = ir::binary(m_, op::add, begin, host->extent);
    ir::expr steady = end;
    for (jam_part const& p : parts)
      if (p.condition != nullptr && (host->how != loop_kind::serial || !holds_until(p.condition, host->variable, steady))) return nullptr;
    steady = simplify(m_, ir::binary(m_, op::max, begin, steady));
    auto const length = [&](ir::expr from, ir::expr to) { return simplify(m_, ir::binary(m_, op::sub, to, from)); };
    ir::stmt const one = joined_parts(parts);
    if (steady == simplify(m_, end)) return ir::loop_like(m_, host, begin, host->extent, one);
    ir::stmt const rest = (*this)(host->children[0]);
    return ir::block(m_, {ir::loop_like(m_, host, begin, length(begin, steady), one), ir::loop_like(m_, host, steady, length(steady, end), rest)});
  }
  /// Whether `condition` is `v < bound`, whose least one is kept in `end`, or several such.
  bool holds_until(ir::expr condition, std::int32_t variable, ir::expr& end) {
    if (condition->kind == op::logical_and) return holds_until(condition->a, variable, end) && holds_until(condition->b, variable, end);
    edge_of_loop const edge(m_, condition, variable);
    if (edge.rest == nullptr || edge.slope != 1) return false;
    end = ir::binary(m_, op::min, end, simplify(m_, ir::binary(m_, op::sub, ir::index(m_, 1), edge.rest)));
    return true;
  }
  /// The parts of a statement: where several have one condition, `simplify` has made one branch of theirs.
  bool take_parts(ir::stmt s, ir::expr condition, sequence<jam_part>& parts) {
    if (s->kind == ir::stmt_kind::branch) return s->children.size() == 1 && take_parts(s->children[0], ir::all_of(m_, condition, s->value), parts);
    sequence<ir::buffer const*> memory;
    ir::stmt inner = s;
    for (; inner->kind == ir::stmt_kind::allocate; inner = inner->children[0]) memory.push_back(inner->buf);
    int loops = 0;
    for (ir::stmt c : inner->children) loops += inner->kind == ir::stmt_kind::block && has_jam(c);
    if (loops < 2) {
      jam_part p;
      p.condition = condition;
      if (!find_loop(s, p) || p.loop == nullptr || !note(p.loop->children[0], true, p)) return false;
      p.variables.push_back(p.loop->variable);
      parts.push_back(p);
      return true;
    }
    std::size_t const first = parts.size();
    for (ir::stmt c : inner->children) {
      if (has_jam(c) ? !take_parts(c, condition, parts) : parts.size() == first || !note(c, false, parts.back())) return false;
      if (!has_jam(c)) parts.back().behind.push_back(c);
    }
    for (ir::buffer const* each : memory) parts[first].memory.push_back(each);
    return true;
  }
  /// Takes `s` apart down to the one loop of a group in it.
  static bool find_loop(ir::stmt s, jam_part& p) {
    if (s->kind == ir::stmt_kind::allocate) {
      p.memory.push_back(s->buf);
      return find_loop(s->children[0], p);
    }
    if (s->kind == ir::stmt_kind::block && has_jam(s)) {
      sequence<ir::stmt> behind;
      for (ir::stmt c : s->children) {
        if (p.loop == nullptr && has_jam(c)) {
          if (!find_loop(c, p)) return false;
          continue;
        }
        if (has_jam(c) || !note(c, false, p)) return false;
        if (p.loop == nullptr) p.before.push_back(c);
        else behind.push_back(c);
      }
      for (ir::stmt c : behind) p.behind.push_back(c);
      return true;
    }
    bool const fits = s->kind == ir::stmt_kind::loop && s->jam != 0 && s->how == loop_kind::serial && !has_jam(s->children[0]);
    if (fits) p.loop = s;
    return fits;
  }
  /// Collects what is read and written; false: something else is done, too.
  static bool note(ir::stmt s, bool inside, jam_part& p) {
    switch (s->kind) {
      case ir::stmt_kind::block:
      case ir::stmt_kind::branch:
      case ir::stmt_kind::together: break;
      case ir::stmt_kind::allocate: p.inner_memory.push_back(s->buf); break;
      case ir::stmt_kind::loop:
        if (is_concurrent(s->how)) return false;
        p.variables.push_back(s->variable);
        break;
      case ir::stmt_kind::store:
        if (s->asynchronous) return false;
        p.accesses.push_back({s->buf, s->indices, true, inside});
        break;
      default: return false;
    }
    auto const reads = [&](ir::expr e) {
      ir::has_part(e, [&](ir::expr x) {
        if (x->kind == op::load) p.accesses.push_back({x->buf, x->indices, false, inside});
        return false;
      });
    };
    for (ir::expr i : s->indices) reads(i);
    for (ir::expr e : {s->value, s->mask, s->begin, s->extent}) reads(e);
    for (ir::stmt c : s->children)
      if (!note(c, inside, p)) return false;
    return true;
  }
  static bool are_alike(sequence<jam_part> const& parts) {
    ir::stmt const first = parts[0].loop;
    for (jam_part const& p : parts)
      if (p.loop->jam != first->jam || p.loop->begin != first->begin || p.loop->extent != first->extent || first->begin->kind != op::literal || first->extent->kind != op::literal) return false;
    return true;
  }
  /// Whether some memory is that of two parts.
  static bool share_memory(sequence<jam_part> const& parts) {
    sequence<ir::buffer const*> all;
    for (jam_part const& p : parts) {
      for (ir::buffer const* b : p.memory) all.push_back(b);
      for (ir::buffer const* b : p.inner_memory) all.push_back(b);
    }
    for (std::size_t i = 0; i < all.size(); ++i)
      for (std::size_t k = 0; k < i; ++k)
        if (all[i] == all[k]) return true;
    return false;
  }
  /// Whether what one part writes is nothing that another one reads or writes, or is read in the iteration that has written it.
  bool are_apart(sequence<jam_part> const& parts) {
    if (share_memory(parts)) return false;
    inner_.clear();
    for (jam_part const& p : parts)
      for (std::int32_t v : p.variables) inner_.push_back(v);
    std::int64_t left = std::int64_t(1) << 16;  // pairs that are looked at
    for (std::size_t i = 0; i < parts.size(); ++i)
      for (std::size_t j = i + 1; j < parts.size(); ++j)
        for (jam_access const& a : parts[i].accesses)
          for (jam_access const& b : parts[j].accesses) {
            if ((!a.written && !b.written) || a.buf->alias_class != b.buf->alias_class) continue;
            if (a.buf != b.buf || a.indices.size() != b.indices.size() || --left < 0) return false;
            if (!are_distinct(a, b) && !(a.inside && b.inside && stay_in_turn(a, parts[i].loop, b, parts[j].loop))) return false;
          }
    return true;
  }
  /// Whether it has other values in other iterations of loops inside of parts, `but` for one of them.
  bool moves_inside(ir::expr e, std::int32_t but = -1) const {
    for (std::int32_t v : inner_)
      if (v != but && ir::uses(e, v)) return true;
    return false;
  }
  bool are_distinct(jam_access const& a, jam_access const& b) const {
    for (std::size_t d = 0; d < a.indices.size(); ++d) {
      ir::expr x = a.indices[d], y = b.indices[d];
      std::int64_t modulus = 0;
      bool const ring = x->kind == op::floor_mod && y->kind == op::floor_mod && x->b == y->b && x->b->kind == op::literal && x->b->value > 1;
      if (ring) modulus = x->b->value, x = x->a, y = y->a;
      std::int64_t apart = 0;
      if (x->lanes > 1 || y->lanes > 1 || moves_inside(x) || moves_inside(y)) continue;
      if (differ_by(x, y, apart) && (ring ? apart % modulus != 0 : apart != 0)) return true;
    }
    return false;
  }
  static bool differ_by(ir::expr x, ir::expr y, std::int64_t& apart) {
    linear form = linear_form(x);
    form.add(linear_form(y), -1);
    apart = form.constant;
    return form.terms.empty();
  }
  /// Whether in one dimension both go on, in each iteration, by no less than the elements that are touched there: then no iteration touches what is another one's.
  bool stay_in_turn(jam_access const& a, ir::stmt of_a, jam_access const& b, ir::stmt of_b) const {
    ir::expr const v = ir::variable(m_, of_a->variable);
    for (std::size_t d = 0; d < a.indices.size(); ++d) {
      ir::expr const x = a.indices[d], y = of_b->variable == of_a->variable ? b.indices[d] : ir::substitute(m_, b.indices[d], of_b->variable, v);
      bool const ramps = (x->lanes == 1 || x->kind == op::ramp) && (y->lanes == 1 || y->kind == op::ramp);
      if (!ramps) continue;
      ir::expr const from_x = x->lanes == 1 ? x : x->a, from_y = y->lanes == 1 ? y : y->a;
      linear const form = linear_form(from_x);
      std::int64_t step = 0, apart = 0;
      bool clear = true;
      for (linear::term const& t : form.terms) {
        if (t.atom == v) step = t.coefficient;
        else clear = clear && !moves_inside(t.atom);
      }
      if (!clear || step <= 0 || moves_inside(from_y, of_a->variable) || !differ_by(from_y, from_x, apart)) continue;
      auto const span = [](ir::expr e) { return e->lanes == 1 ? 1 : e->kind == op::ramp && e->value >= 0 ? (e->lanes - 1) * e->value + 1 : std::int64_t(1) << 40; };
      // Counted from where a's iterations begin: a multiple of the step in front of its first element.
      std::int64_t const at_x = ((form.constant % step) + step) % step, at_y = at_x + apart;
      if (at_x + span(x) <= step && at_y >= 0 && at_y + span(y) <= step) return true;
    }
    return false;
  }
  ir::stmt joined_parts(sequence<jam_part> const& parts) {
    ir::stmt const first = parts[0].loop;
    sequence<ir::stmt> steps, body, behind;
    sequence<ir::prefetched> ahead;
    for (jam_part const& p : parts) {
      ir::expr const v = ir::variable(m_, first->variable);
      for (ir::stmt s : p.before) steps.push_back(s);
      for (ir::stmt s : p.behind) behind.push_back(s);
      body.push_back(p.loop->variable == first->variable
                         ? p.loop->children[0]
                         : renamed_requests(m_, p.loop->variable, first->variable)(ir::substitute(m_, p.loop->children[0], p.loop->variable, v)));
      for (ir::prefetched asked : p.loop->ahead) {
        bool known = false;
        for (ir::prefetched const& other : ahead) known = known || (other.buf == asked.buf && other.of == asked.of);
        if (asked.of == p.loop->variable) asked.of = -1;
        if (!known) ahead.push_back(asked);
      }
    }
    ir::stmt_node n = *ir::loop_like(m_, first, first->begin, first->extent, ir::block(m_, body));
    n.jam = 0;
    n.ahead = m_.make_list(ahead);
    steps.push_back(m_.make(n));
    for (ir::stmt s : behind) steps.push_back(s);
    ir::stmt all = ir::block(m_, steps);
    for (std::size_t i = parts.size(); i-- > 0;)
      for (std::size_t k = parts[i].memory.size(); k-- > 0;) all = ir::allocated(m_, parts[i].memory[k], all);
    return all;
  }

  sequence<std::int32_t> inner_;  // variables of loops in the parts that are looked at
};

}  // namespace detail

WEFT_DECL ir::stmt jam(ir::function& f, ir::stmt s) { return detail::has_jam(s) ? detail::jammed_loops(f)(s) : s; }

}  // namespace weft::inline WEFT_ABI
