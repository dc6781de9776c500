#include "weft/ir/lane_spans.hpp"
#include "weft/ir/middles.hpp"
#include "weft/ir/simplify.hpp"
#include "weft/pass/left_out.hpp"
#include "weft/pass/partition.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

/// Decides what it can about a body by keeping a loop's variable to most of the loop: [begin, end).
class middle_of_loop final : public ir::rewriter {
 public:
  /// `inner`: of the variables of loops inside. `lanes_alone`: about what differs between lanes, not about what vectors share.
  middle_of_loop(ir::arena& m, range_table const& inner, std::int32_t variable, std::int64_t from, std::int64_t to, bool lanes_alone)
      : ir::rewriter(m), begin(from), end(to), ranges_(inner), variable_(variable), first_(from), last_(to), lanes_alone_(lanes_alone) {}
  std::int64_t begin, end;
  int decided = 0;  // about vectors

 protected:
  using ir::rewriter::replace;
  ir::expr replace(ir::expr e) override {
    if (!uses(e, variable_)) return e;
    ir::expr const r = children(e);
    if (lanes_alone_ && r->lanes == 1) return r;
    if (e->kind == op::broadcast && e->type == dtype::boolean) decided += (r->kind == op::broadcast ? r->a : r)->kind == op::literal;
    if (r->lanes > 1 && is_index(r) && (r->kind == op::floor_div || r->kind == op::floor_mod)) return divided(r);
    bool const bound = r->kind == op::min || r->kind == op::max;
    if (bound ? r->lanes == 1 || !is_index(r) : !(r->kind == op::lt || r->kind == op::le) || r->a->type != dtype::i64) return r;
    bool less = false;
    if (!decide(r->a, r->b, r->kind != op::lt, less)) return r;
    decided += r->lanes > 1;
    if (!bound) return ir::literal(m_, dtype::boolean, less, r->lanes);
    return less == (r->kind == op::min) ? r->a : r->b;
  }

 private:
  /// What all lanes have in common, as a sum, and the least and the most that one of them adds.
  struct distance {
    linear common{};
    std::int64_t low = lane_span::far, high = -lane_span::far;
  };
  distance apart(ir::expr a, ir::expr b) {
    lane_spans spans(m_, a->lanes);
    lane_span const x = spans.of(a), y = spans.of(b);
    distance d;
    if (x.first != nullptr) d.common.add(linear_form(x.first), 1);
    if (y.first != nullptr) d.common.add(linear_form(y.first), -1);
    constexpr std::int64_t far = lane_span::far;
    auto const known = [&](std::int64_t i) { return i < far && i > -far; };
    for (std::size_t l = 0; l < x.low.size(); ++l) {
      std::int64_t const least = known(x.low[l]) && known(y.high[l]) ? x.low[l] - y.high[l] : -2 * far;
      std::int64_t const most = known(x.high[l]) && known(y.low[l]) ? x.high[l] - y.low[l] : 2 * far;
      d.low = least < d.low ? least : d.low, d.high = most > d.high ? most : d.high;
    }
    return d;
  }
  /// What the sum comes to in the iterations [from, to); false: not known, or it may wrap.
  bool is_known(linear const& sum, std::int64_t from, std::int64_t to, interval& r) {
    ranges_.set(variable_, interval{from, to - 1});
    r = range_of(sum, ranges_);
    return r.low > -lane_span::far && r.high < lane_span::far;
  }
  /// Keeps to the longest stretch around the middle where `holds(from, to)`, which then holds of each part of it; false: they would be too few.
  template <class F>
  bool keep(F const& holds) {
    std::int64_t const middle = first_ + (last_ - first_) / 2;
    if (middle < begin || middle >= end || !holds(middle, middle + 1)) return false;
    std::int64_t const from = holds(begin, middle + 1) ? begin : border(begin, middle, [&](std::int64_t v) { return holds(v, middle + 1); });
    std::int64_t const to = holds(middle, end) ? end : border(end - 1, middle, [&](std::int64_t v) { return holds(middle, v + 1); }) + 1;
    if (2 * (to - from) < last_ - first_) return false;
    begin = from, end = to;
    return true;
  }
  /// Whether a < b (equal: a <= b) in all lanes, for all iterations that are left; false: they would be too few.
  bool decide(ir::expr a, ir::expr b, bool equal, bool& less) {
    distance const d = apart(a, b);
    for (bool const way : {true, false}) {
      if ((way ? d.high : -d.low) >= lane_span::far / 2) continue;
      auto const holds = [&](std::int64_t from, std::int64_t to) {
        interval r;
        return is_known(d.common, from, to, r) && (way ? r.high + d.high < equal : r.low + d.low >= equal);
      };
      if (keep(holds)) return less = way, true;
    }
    return false;
  }
  /// A quotient that is the same in all lanes and iterations that are left, or what is then left over.
  ir::expr divided(ir::expr e) {
    constexpr std::int64_t far = lane_span::far / 2;
    std::int64_t const by = e->b->kind == op::literal ? e->b->value : 0;
    if (by <= 0 || by > far) return e;
    distance const d = apart(e->a, ir::literal(m_, dtype::i64, 0, e->lanes));
    std::int64_t const middle = first_ + (last_ - first_) / 2;
    interval there;
    if (d.low <= -far || d.high >= far || !is_known(d.common, middle, middle + 1, there)) return e;
    std::int64_t const quotient = floor_div(there.low + d.low, by);
    auto const holds = [&](std::int64_t from, std::int64_t to) {
      interval r;
      return is_known(d.common, from, to, r) && floor_div(r.low + d.low, by) == quotient && floor_div(r.high + d.high, by) == quotient;
    };
    if (!keep(holds)) return e;
    ++decided;
    if (e->kind == op::floor_div) return ir::literal(m_, dtype::i64, quotient, e->lanes);
    return ir::binary(m_, op::sub, e->a, ir::literal(m_, dtype::i64, quotient * by, e->lanes));
  }
  /// Between `out`, where it does not hold, and `in`, where it does: the last place from `in` on where it does.
  template <class F>
  static std::int64_t border(std::int64_t out, std::int64_t in, F const& holds) {
    while (out - in > 1 || in - out > 1) {
      std::int64_t const between = in + (out - in) / 2;
      (holds(between) ? in : out) = between;
    }
    return in;
  }
  range_table ranges_;
  std::int32_t variable_;
  std::int64_t first_, last_;
  bool lanes_alone_;
};

/// Decides what it can about a body for the iterations of a loop that lie inside of some edges, which in most tiles of a picture are all, or all
/// but a last one that is cut: from each of `starts` to each of `ends`, where `conditions` hold.
class inside_of_edges final : public ir::rewriter {
 public:
  /// Of loops inside, `within`, what holds in all of their iterations, which `ranges` knows.
  inside_of_edges(ir::arena& m, ir::stmt loop, middles& known, sequence<std::int32_t> const& within = {}, range_table const& ranges = {})
      : ir::rewriter(m), loop_(loop), known_(known), within_(within), ranges_(ranges) {
    last_ = simplify(m, ir::binary(m, op::sub, ir::binary(m, op::add, loop->begin, loop->extent), ir::index(m, 1)));
  }
  sequence<ir::expr> conditions, starts, ends;
  bool is_any() const { return !conditions.empty() || !starts.empty() || !ends.empty(); }

 protected:
  using ir::rewriter::replace;
  ir::expr replace(ir::expr e) override {
    if (!uses(e, loop_->variable) && !uses_within(e)) return e;
    ir::expr const r = children(e);
    bool const quotient = is_index(r) && (r->kind == op::floor_div || r->kind == op::floor_mod);
    if (quotient && (r->lanes > 1 || (r->b->kind != op::literal && !within_.empty()))) return divided(r);
    bool const bound = r->kind == op::min || r->kind == op::max;
    if (r->lanes == 1 || (bound ? !is_index(r) : !(r->kind == op::lt || r->kind == op::le) || r->a->type != dtype::i64)) return r;
    bool less = false;
    if (!decide(r->a, r->b, r->kind != op::lt, less)) return r;
    if (!bound) return ir::literal(m_, dtype::boolean, less, r->lanes);
    return less == (r->kind == op::min) ? r->a : r->b;
  }

 private:
  /// Whether a < b (equal: a <= b) in all lanes and in all iterations that are left, or in none: in the middle of the loops around for most of
  /// them, at least.
  bool decide(ir::expr a, ir::expr b, bool equal, bool& less) {
    lane_spans spans(m_, a->lanes);
    lane_span const x = spans.of(a), y = spans.of(b);
    ir::expr const zero = ir::index(m_, 0), begin = loop_->begin;
    ir::expr apart = simplify(m_, ir::binary(m_, op::sub, x.first == nullptr ? zero : x.first, y.first == nullptr ? zero : y.first));
    std::int64_t slope = 0, far = lane_span::far, low = far, high = -far;
    linear const form = linear_form(apart);
    constexpr std::int64_t steep = 1 << 20;  // loops and sizes have up to 2^40
    if (form.constant > far || form.constant < -far) return false;  // i64 wraps around
    linear outside;  // what loops inside do not change; they add from `least` to `most`
    outside.constant = form.constant;
    std::int64_t least = 0, most = 0;
    for (linear::term const& t : form.terms) {
      bool const own = t.atom->kind == op::axis && t.atom->value == loop_->variable;
      if (t.coefficient > steep || t.coefficient < -steep || has_product(t.atom) || (!own && uses(t.atom, loop_->variable))) return false;
      if (own) slope = t.coefficient;
      if (!uses_within(t.atom)) {
        outside.add(t.atom, t.coefficient);
        continue;
      }
      interval const r = t.atom->kind == op::axis ? ranges_.of(static_cast<std::int32_t>(t.atom->value)) : interval{-far, far};
      if (r.low <= -steep || r.high >= steep) return false;
      least += t.coefficient * (t.coefficient > 0 ? r.low : r.high), most += t.coefficient * (t.coefficient > 0 ? r.high : r.low);
    }
    if (!within_.empty()) apart = rebuild(m_, outside);
    for (std::size_t l = 0; l < x.low.size(); ++l) {
      if (x.low[l] <= -far || x.high[l] >= far || y.low[l] <= -far || y.high[l] >= far) return false;
      low = x.low[l] - y.high[l] < low ? x.low[l] - y.high[l] : low, high = x.high[l] - y.low[l] > high ? x.high[l] - y.low[l] : high;
    }
    low += least, high += most;
    std::int64_t const first = known_.at(begin), last = known_.at(last_);
    if (first == middles::unknown || last == middles::unknown || slope > 1 << 20 || slope < -(1 << 20)) return false;
    for (bool const way : {true, false}) {
      // How far the lane that is nearest to being otherwise is from that in the first iteration: less than 0, or at least 0.
      ir::expr const at_first = ir::binary(m_, op::add, ir::substitute(m_, apart, loop_->variable, begin), ir::index(m_, (way ? high : low) - equal));
      ir::expr const edge = simplify(m_, at_first);
      std::int64_t const there = known_.at(edge);
      if (there == middles::unknown) continue;
      std::int64_t const nearer = way ? slope : -slope;  // with each iteration
      if (nearer == 0) {
        ir::expr const condition = simplify(m_, way ? ir::binary(m_, op::lt, edge, zero) : ir::binary(m_, op::le, zero, edge));
        if ((there < 0) != way || (condition->kind != op::literal && !note(conditions, condition))) continue;
      } else {
        // So many iterations from the first one on are, or are not: `gone` is what the lane is away from where it changes.
        std::int64_t const step = nearer > 0 ? nearer : -nearer;
        ir::expr const gone = way == (nearer > 0) ? ir::binary(m_, op::sub, ir::index(m_, step - 1), edge) : ir::binary(m_, op::add, edge, ir::index(m_, step));
        ir::expr const border = simplify(m_, ir::binary(m_, op::add, begin, ir::binary(m_, op::floor_div, gone, ir::index(m_, step))));
        std::int64_t const stop = known_.at(border);
        if (stop == middles::unknown || 2 * (nearer > 0 ? stop - first : last + 1 - stop) <= last + 1 - first) continue;
        if (!note(nearer > 0 ? ends : starts, border)) return false;
      }
      less = way;
      return true;
    }
    return false;
  }
  static bool has_product(ir::expr e) {
    return ir::has_part(e, [](ir::expr x) { return x->kind == op::mul && x->a->kind != op::literal && x->b->kind != op::literal; });
  }
  bool uses_within(ir::expr e) const {
    for (std::int32_t v : within_)
      if (uses(e, v)) return true;
    return false;
  }
  /// With the quotient that the middle has; of what is divided by an open size where that is 0.
  ir::expr divided(ir::expr e) {
    constexpr std::int64_t far = std::int64_t(1) << 31;
    ir::expr const zeros = ir::literal(m_, dtype::i64, 0, e->lanes);
    if (e->b->kind != op::literal) {
      if (!are_so(e->a, zeros, false, e->a, e->b, true)) return e;
      return e->kind == op::floor_div ? zeros : e->a;
    }
    std::int64_t const by = e->b->value;
    lane_span const x = lane_spans(m_, e->lanes).of(e->a);
    std::int64_t const there = x.first == nullptr ? 0 : known_.at(x.first), least = x.least();
    if (by <= 0 || by > far || there <= -far || there >= far || least <= -far || least >= far) return e;
    std::int64_t const quotient = floor_div(there + least, by);
    auto const number = [&](std::int64_t v) { return ir::literal(m_, dtype::i64, v, e->lanes); };
    if (!are_so(e->a, number(quotient * by), false, e->a, number(quotient * by + by), true)) return e;
    return e->kind == op::floor_div ? number(quotient) : ir::binary(m_, op::sub, e->a, number(quotient * by));
  }
  /// Whether both a < b and c < d are as said, of which nothing is noted where one is not.
  bool are_so(ir::expr a, ir::expr b, bool first, ir::expr c, ir::expr d, bool second) {
    std::size_t const noted[] = {conditions.size(), starts.size(), ends.size()};
    bool less = false;
    if (decide(a, b, false, less) && less == first && decide(c, d, false, less) && less == second) return true;
    conditions.resize(noted[0], nullptr), starts.resize(noted[1], nullptr), ends.resize(noted[2], nullptr);
    return false;
  }
  static bool note(sequence<ir::expr>& all, ir::expr e) {
    constexpr std::size_t many = 12;
    for (ir::expr known : all)
      if (known == e) return true;
    if (all.size() < many) all.push_back(e);
    else return false;
    return true;
  }
  ir::stmt loop_;
  middles& known_;
  sequence<std::int32_t> within_;
  range_table ranges_;
  ir::expr last_;
};

/// Finds a choice between vectors that hangs on no lane and not on the loop.
class steady_choice final : public ir::rewriter {
 public:
  steady_choice(ir::arena& m, std::int32_t variable) : ir::rewriter(m), variable_(variable) {}
  ir::expr found = nullptr;

 protected:
  using ir::rewriter::replace;
  ir::expr replace(ir::expr e) override {
    if (found != nullptr) return e;
    if (e->kind == op::select && e->lanes > 1 && e->a->kind == op::broadcast && !uses(e->a, variable_) && !reads(e->a->a, 8) &&
        vectors(e->b, 6) + vectors(e->c, 6) >= 4) {
      found = e->a->a;
      return e;
    }
    return nullptr;
  }

 private:
  static bool reads(ir::expr e, int depth) {
    if (e == nullptr) return false;
    return depth == 0 || e->kind == op::load || reads(e->a, depth - 1) || reads(e->b, depth - 1) || reads(e->c, depth - 1);
  }
  /// Operations on vectors that it takes: as many as matter.
  static int vectors(ir::expr e, int depth) {
    if (e == nullptr || depth == 0 || e->lanes == 1 || e->kind == op::literal || e->kind == op::broadcast || is_index(e)) return 0;
    int const here = arity(e->kind) > 0;
    return e->kind == op::load ? 1 : here + vectors(e->a, depth - 1) + vectors(e->b, depth - 1) + vectors(e->c, depth - 1);
  }
  std::int32_t variable_;
};
class partitioner final : public ir::rewriter {
 public:
  partitioner(ir::arena& m, bool open) : ir::rewriter(m), open_(open) {}
  bool changed = false;

 protected:
  using ir::rewriter::replace;
  ir::expr replace(ir::expr e) override { return e; }
  ir::stmt replace(ir::stmt s) override {
    if (s->kind == ir::stmt_kind::store) return s;
    if (s->kind == ir::stmt_kind::loop) known_.enter(s);
    if (s->kind != ir::stmt_kind::loop) return nullptr;
    if (s->how == loop_kind::parallel) return shared_out(s);
    if (s->how != loop_kind::serial) return nullptr;
    return is_plain(s->children[0]) ? by_choices(s, 3) : around_loops(s);
  }

 private:
  /// No loops, and what writes once in each iteration.
  static bool is_plain(ir::stmt s) {
    if (s->kind == ir::stmt_kind::loop || s->kind == ir::stmt_kind::accumulate) return false;
    for (ir::stmt c : s->children)
      if (!is_plain(c)) return false;
    return true;
  }
  /// The body where the condition holds, or does not, without what does nothing then.
  ir::stmt supposed(ir::stmt body, ir::expr condition, bool holds) {
    return without_idle(m_, simplify(m_, known_condition(m_, condition, holds)(body)));
  }
  ir::stmt by_choices(ir::stmt s, int depth) {
    ir::stmt const inside = s->children[0];
    if (is_nothing(inside)) return inside;
    auto const with = [&](ir::stmt body) { return ir::loop_like(m_, s, s->begin, s->extent, body); };
    for (ir::expr c : shared_conditions(m_, inside).all) {
      bool const turns = uses(c, s->variable);
      edge_of_loop const edge(m_, c, s->variable);
      if ((turns && edge.rest == nullptr) || !is_nothing(supposed(inside, c, false))) continue;
      changed = true;
      ir::stmt const loop = with(supposed(inside, c, true));
      if (turns) return by_choices(edge.kept(m_, loop), depth);
      return ir::branch(m_, c, by_choices(loop, depth), nullptr);
    }
    steady_choice choice(m_, s->variable);
    if (depth > 0) choice(inside);
    if (choice.found == nullptr) return away_from_edges(s);
    changed = true;
    ir::expr const c = choice.found;
    ir::stmt const then = by_choices(with(supposed(inside, c, true)), depth - 1);
    return ir::branch(m_, c, then, by_choices(with(supposed(inside, c, false)), depth - 1));
  }
  /// Where the loops around say that what vectors share holds in all iterations, as away from the edges of a picture.
  ir::stmt away_from_edges(ir::stmt s) {
    known_.enter(s);
    ir::expr const last = simplify(m_, ir::binary(m_, op::sub, ir::binary(m_, op::add, s->begin, s->extent), ir::index(m_, 1)));
    ir::expr all = nullptr, zero = ir::index(m_, 0);
    ir::stmt body = s->children[0];
    for (ir::expr c : shared_conditions(m_, body).all) {
      edge_of_loop const edge(m_, c, s->variable);
      if (edge.rest == nullptr) continue;
      ir::expr const farthest = edge.at(m_, edge.slope > 0 ? last : s->begin);
      std::int64_t const there = known_.at(farthest);
      if (there == middles::unknown || there > 0) continue;
      all = ir::all_of(m_, all, simplify(m_, ir::binary(m_, op::le, farthest, zero)));
      body = known_condition(m_, c, true)(body);
    }
    if (all == nullptr) return by_parts(s);
    changed = true;
    return ir::branch(m_, all, by_parts(ir::loop_like(m_, s, s->begin, s->extent, simplify(m_, body))), by_parts(s));
  }
  /// Parts of a loop of literal length, in order; none: nothing in it is decided in most of its iterations, or, of a short loop, in each.
  struct stretch {
    std::int64_t begin, end;
    ir::stmt body;
  };
  sequence<stretch> parts_of(ir::stmt s, bool lanes_alone) {
    constexpr std::int64_t few = 4, many = std::int64_t(1) << 30;
    sequence<stretch> parts;
    if (s->begin->kind != op::literal || s->extent->kind != op::literal || s->extent->value > many || s->begin->value < 0 || s->begin->value > many)
      return parts;
    std::int64_t const begin = s->begin->value, end = begin + s->extent->value, most = s->extent->value < few ? 1 : s->extent->value;
    int decided = 0;
    range_table inner;
    inner.set(s->variable, interval{begin, end - 1});
    sequence<std::int32_t> met(1, s->variable);
    note_loops(s->children[0], inner, met);
    for (std::int64_t at = begin; at < end; at += most) {
      middle_of_loop middle(m_, inner, s->variable, at, at + most, lanes_alone);
      ir::stmt const body = middle(s->children[0]);
      decided += middle.decided;
      if (middle.begin > at) parts.push_back({at, middle.begin, s->children[0]});
      parts.push_back({middle.begin, middle.end, body});
      if (middle.end < at + most) parts.push_back({middle.end, at + most, s->children[0]});
    }
    if (decided == 0) parts.clear();
    changed = changed || decided > 0;
    return parts;
  }
  /// The ranges of the variables of all loops in `s`: of several loops over one, around all of them.
  static void note_loops(ir::stmt s, range_table& ranges, sequence<std::int32_t>& met) {
    if (s->kind == ir::stmt_kind::loop) {
      interval r = ranges.of_loop(s->begin, s->extent);
      bool known = false;
      for (std::int32_t v : met) known = known || v == s->variable;
      if (interval const before = ranges.of(s->variable); known) r = {r.low < before.low ? r.low : before.low, r.high > before.high ? r.high : before.high};
      else met.push_back(s->variable);
      ranges.set(s->variable, r);
    }
    for (ir::stmt c : s->children) note_loops(c, ranges, met);
  }
  ir::stmt loop_over(ir::stmt s, stretch const& p) {
    return ir::loop_like(m_, s, ir::index(m_, p.begin), ir::index(m_, p.end - p.begin), p.body);
  }
  ir::stmt by_parts(ir::stmt s) {
    sequence<ir::stmt> all;
    for (stretch const& p : parts_of(s, false)) all.push_back(p.body == s->children[0] ? loop_over(s, p) : by_tiles(loop_over(s, p)));
    return all.empty() ? by_tiles(s) : ir::block(m_, all);
  }
  static constexpr int most_around = 384;  // of 6 x 4 vectors, two terms at a time, the first rows packing a panel and the last ones cut, there are 264
  /// Stores in it; many where an iteration of a loop around may not be written twice, or may not be another one's first.
  static int stores(ir::stmt s) {
    constexpr int many = 1 << 20;
    if (s->kind == ir::stmt_kind::accumulate || s->kind == ir::stmt_kind::tile || (s->kind == ir::stmt_kind::loop && s->how != loop_kind::serial)) return many;
    int count = s->kind == ir::stmt_kind::store;
    for (ir::stmt c : s->children) count += count < many ? stores(c) : 0;
    return count;
  }
  /// A loop that has loops inside, by lanes that hang on its own variable alone: columns of tiles, of which the last one is cut.
  ir::stmt around_loops(ir::stmt s) {
    if (stores(s->children[0]) > most_around) return nullptr;
    sequence<ir::stmt> all;
    for (stretch const& p : parts_of(s, true)) {
      ir::stmt const one = loop_over(s, p);
      all.push_back(p.end - p.begin == 1 ? (*this)(simplify(m_, one)) : children(one));
    }
    return !all.empty() ? ir::block(m_, all) : open_ ? by_tiles_around(s) : nullptr;
  }
  /// Iterations that threads share, which ask each for itself whether lanes have an edge there.
  ir::stmt shared_out(ir::stmt s) {
    if (stores(s->children[0]) > most_around) return nullptr;
    ir::stmt const inside = s->children[0];
    for (stretch const& p : parts_of(s, true)) {
      if (p.body == inside || 2 * (p.end - p.begin) < s->extent->value) continue;
      ir::expr const v = ir::variable(m_, s->variable), begin = ir::index(m_, p.begin), end = ir::index(m_, p.end);
      ir::expr const last = ir::binary(m_, op::add, s->begin, s->extent);
      ir::expr middle = p.begin > s->begin->value ? ir::binary(m_, op::le, begin, v) : nullptr;
      if (simplify(m_, last) != end) middle = ir::all_of(m_, middle, ir::binary(m_, op::lt, v, end));
      ir::stmt const most_of_them = (*this)(simplify(m_, p.body));
      ir::stmt const body = middle == nullptr ? most_of_them : ir::branch(m_, middle, most_of_them, (*this)(inside));
      return ir::loop_like(m_, s, s->begin, s->extent, body);
    }
    return nullptr;
  }
  /// Where the loops around say whether an edge is near.
  ir::stmt by_tiles(ir::stmt s) {
    constexpr std::int64_t few = 4;
    if (s->extent->kind == op::literal && s->extent->value < few) return s;
    known_.enter(s);
    inside_of_edges inside(m_, s, known_);
    ir::stmt const body = inside(s->children[0]);
    ir::stmt const cut = inside.is_any() ? at_edges(s, inside, body, s) : nullptr;
    return cut == nullptr ? s : cut;
  }
  /// The same of a loop that has loops inside, where sizes are open: what it says holds in all iterations of these. Null: nothing is cut.
  ir::stmt by_tiles_around(ir::stmt s) {
    constexpr int most = 64, deep = 2;  // each is written out four times
    if (around_ == deep || stores(s->children[0]) > most) return nullptr;
    sequence<std::int32_t> within;
    range_table ranges;
    note_loops(s->children[0], ranges, within);
    inside_of_edges inside(m_, s, known_, within, ranges);
    ir::stmt const body = inside(s->children[0]);
    if (!inside.is_any()) return nullptr;
    ++around_;
    ir::stmt const as_it_is = children(s), cut = at_edges(s, inside, (*this)(simplify(m_, body)), as_it_is);
    --around_;
    return cut == nullptr ? as_it_is : cut;
  }
  /// The loop `s` with `body` inside of its edges, and as `otherwise` has it at them. Null: that is not most of it.
  ir::stmt at_edges(ir::stmt s, inside_of_edges const& inside, ir::stmt body, ir::stmt otherwise) {
    ir::expr all = nullptr, start = s->begin, end = ir::binary(m_, op::add, s->begin, s->extent);
    ir::expr const last = end;
    for (ir::expr c : inside.conditions) all = ir::all_of(m_, all, c);
    for (ir::expr e : inside.starts) start = ir::binary(m_, op::max, start, e);
    for (ir::expr e : inside.ends) end = ir::binary(m_, op::min, end, e);
    if (start != s->begin) start = simplify(m_, ir::binary(m_, op::min, start, last));
    end = simplify(m_, ir::binary(m_, op::max, end, start));
    std::int64_t const first = known_.at(start), past = known_.at(end);
    if (first == middles::unknown || past == middles::unknown || 2 * (past - first) <= known_.at(s->extent)) return nullptr;
    changed = true;
    auto const part = [&](ir::expr from, ir::expr to, ir::stmt inner) {
      return ir::loop_like(m_, s, from, simplify(m_, ir::binary(m_, op::sub, to, from)), inner);
    };
    sequence<ir::stmt> parts;
    if (!inside.starts.empty()) parts.push_back(part(s->begin, start, otherwise->children[0]));
    parts.push_back(part(start, end, body));
    if (!inside.ends.empty()) parts.push_back(part(end, last, otherwise->children[0]));
    ir::stmt const cut = ir::block(m_, parts);
    return all == nullptr ? cut : ir::branch(m_, all, cut, otherwise);
  }
  middles known_;
  bool open_;  // sizes are
  int around_ = 0;
};

}  // namespace detail

WEFT_DECL ir::stmt partition(ir::arena& m, ir::stmt s, bool open) {
  detail::partitioner p(m, open);
  ir::stmt const cut = p(s);
  return p.changed ? simplify(m, cut) : s;
}

}  // namespace weft::inline WEFT_ABI
