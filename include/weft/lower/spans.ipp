#include "weft/lower/spans.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

WEFT_DECL span index_spans::of(int id, range_table const& ranges) {
  if (span const* known = known_.find(id); known != nullptr) return *known;
  span s = p_.at(id).kind == op::add ? together(id) : span();
  if (!s.known()) s = make(p_.at(id), ranges);
  // A sum that may have wrapped is no bound.
  for (ir::expr e : {s.low, s.high})
    if (e != nullptr && (infinite(ranges.of(e).low) || infinite(ranges.of(e).high))) s = {};
  return known_.of(id) = s;
}
WEFT_DECL span index_spans::make(node const& n, range_table const& ranges) {
  if (n.kind == op::axis) return axis(n.a);
  if (n.type != dtype::i64) return {};
  if (n.kind == op::literal) return {ir::index(m_, n.value), ir::index(m_, n.value)};
  if (n.kind == op::extent) return {extent(n), extent(n)};
  if (arity(n.kind) == 0 || n.kind == op::load) return {};
  bool const choice = n.kind == op::select || n.kind == op::blend;
  if (choice) {  // that sizes decide, as those of a dimension that is broadcast or not
    node const& c = p_.at(n.a);
    bool const of_indices = is_comparison(c.kind) && p_.at(c.a).type == dtype::i64 && p_.at(c.b).type == dtype::i64;
    span const x = of_indices ? of(c.a, ranges) : span(), y = x.known() ? of(c.b, ranges) : span();
    if (y.known() && x.low == x.high && y.low == y.high)
      if (ir::expr const is = simplify(m_, ir::binary(m_, c.kind, x.low, y.low), ranges); is->kind == op::literal)
        return of(is->value != 0 ? n.b : n.c, ranges);
  }
  if (span const s = mirrored(n, ranges); s.known()) return s;
  span const a = of(choice ? n.b : n.a, ranges), b = choice ? of(n.c, ranges) : n.b >= 0 ? of(n.b, ranges) : a;
  if (!a.known() || !b.known()) return {};
  auto const both = [&](ir::expr low_b, ir::expr high_b) {
    return span{arithmetic(n.kind, a.low, low_b), arithmetic(n.kind, a.high, high_b)};
  };
  interval const by = ranges.of(b.low);  // used where b is one value
  switch (n.kind) {
    case op::add:
    case op::min:
    case op::max: return both(b.low, b.high);
    case op::sub: return both(b.high, b.low);
    case op::neg: return {simplify(m_, ir::unary(m_, op::neg, a.high)), simplify(m_, ir::unary(m_, op::neg, a.low))};
    case op::select:
    case op::blend: return around(a, b, ranges);
    case op::mul:
      if (a.low == a.high && a.low->kind == op::literal)
        return a.low->value >= 0 ? both(b.low, b.high) : both(b.high, b.low);
      // By a loop's variable it would be known further out, where that is a range, and not here; but parts are nested.
      if (b.low != b.high || b.low->variables != 0 || (by.low < 0 && by.high > 0)) return {};
      if (by.low >= 0) return both(b.low, b.low);
      return {arithmetic(op::mul, a.high, b.low), arithmetic(op::mul, a.low, b.low)};
    case op::floor_div:
    case op::floor_mod: {
      if (b.low != b.high || by.low <= 0) return {};
      // The loops outside decide: (jo * 16 + 15) / 16 is jo.
      auto const divided = [&](op kind, ir::expr x) { return simplify(m_, ir::binary(m_, kind, x, b.low), ranges); };
      span const quotient{divided(op::floor_div, a.low), divided(op::floor_div, a.high)};
      if (n.kind == op::floor_div) return quotient;
      if (quotient.low == quotient.high) return {divided(op::floor_mod, a.low), divided(op::floor_mod, a.high)};
      return {ir::index(m_, 0), arithmetic(op::sub, b.low, ir::index(m_, 1))};
    }
    default: return {};
  }
}
/// Of a border that mirrors, min(x % p, c - x % p) with c = p or p - 1, where x leaves [0, c] by half a period at most: there it is
/// max(min(x, c - x), c - p - x).
WEFT_DECL span index_spans::mirrored(node const& n, range_table const& ranges) {
  mirror_image const image(p_, n);
  if (image.place < 0) return {};
  span const x = of(image.place, ranges), period = of(image.period, ranges), sum = of(image.sum, ranges);
  if (!x.known() || !period.known() || period.low != period.high || !sum.known() || sum.low != sum.high) return {};
  auto const minus = [&](ir::expr a, ir::expr b) { return arithmetic(op::sub, a, b); };
  ir::expr const below = minus(sum.low, period.low);
  if (!ir::is_literal(below, 0) && !ir::is_literal(below, -1)) return {};
  ir::expr const half = arithmetic(op::add, arithmetic(op::mul, x.low, ir::index(m_, 2)), period.low);
  if (ranges.of(half).low < 0 || ranges.of(minus(sum.low, x.high)).low < 0) return {};
  return {least(x.low, minus(sum.low, x.high), ranges), most(least(x.high, minus(sum.low, x.low), ranges), minus(below, x.low), ranges)};
}
WEFT_DECL std::int64_t index_spans::difference(ir::expr a, ir::expr b, range_table const& ranges) {
  differences_.clear();
  return difference_between(a, b, ranges);
}
WEFT_DECL std::int64_t index_spans::difference_between(ir::expr a, ir::expr b, range_table const& ranges) {
  if (a == b) return 0;
  for (known_difference const& d : differences_)
    if (d.a == a && d.b == b) return d.most;
  auto const is_choice_of_two = [](ir::expr e) { return e->kind == op::min || e->kind == op::max; };
  std::int64_t most = ranges.of(arithmetic(op::sub, a, b)).high;
  auto const no_more_than = [&](std::int64_t bound) { most = bound < most ? bound : most; };
  // max(x, y) - b is one of x - b and y - b, min(x, y) - b is not above either; and the same for b.
  auto const by_parts = [&](std::int64_t x, std::int64_t y, bool either) { no_more_than((x < y) == either ? y : x); };
  if (is_choice_of_two(a) && differences_.size() < 200)
    by_parts(difference_between(a->a, b, ranges), difference_between(a->b, b, ranges), a->kind == op::max);
  if (is_choice_of_two(b) && differences_.size() < 200)
    by_parts(difference_between(a, b->a, ranges), difference_between(a, b->b, ranges), b->kind == op::min);
  // A number added to a choice, which simplify has left outside of it.
  auto const is_choice_and_number = [&](ir::expr e) {
    return e->kind == op::add && is_choice_of_two(e->a) && e->b->kind == op::literal && differences_.size() < 200;
  };
  auto const plus = [&](std::int64_t by, std::int64_t number) {
    std::int64_t sum = 0;
    if (!infinite(by) && !__builtin_add_overflow(by, number, &sum)) no_more_than(sum);
  };
  if (is_choice_and_number(a)) plus(difference_between(a->a, b, ranges), a->b->value);
  if (is_choice_and_number(b) && b->b->value != INT64_MIN) plus(difference_between(a, b->a, ranges), -b->b->value);
  // A choice in a sum of others: io * 16 + min(16, 40 - io * 16), where the part of a tile ends.
  auto const choice_in = [&](ir::expr e) {
    while (e->kind == op::add) e = is_choice_of_two(e->b) || e->b->kind == op::add ? e->b : e->a;
    return is_choice_of_two(e) ? e : nullptr;
  };
  auto const with = [&](ir::expr e, ir::expr choice, ir::expr part) { return arithmetic(op::add, arithmetic(op::sub, e, choice), part); };
  if (ir::expr const c = a->kind == op::add && !is_choice_and_number(a) && differences_.size() < 200 ? choice_in(a) : nullptr; c != nullptr)
    by_parts(difference_between(with(a, c, c->a), b, ranges), difference_between(with(a, c, c->b), b, ranges), c->kind == op::max);
  // floor(x / c) - floor(y / c) is not above ceil((x - y) / c).
  if (a->kind == op::floor_div && b->kind == op::floor_div && a->b == b->b && a->b->kind == op::literal && a->b->value > 0)
    if (std::int64_t const by = difference_between(a->a, b->a, ranges); !infinite(by)) no_more_than(ceil_div(by, a->b->value));
  // min(x, c) - min(y, c) is no further from 0 than x - y: how far a border moves two indices that it clamps.
  if (a->kind == b->kind && is_choice_of_two(a))
    for (ir::expr x : {a->a, a->b})
      for (ir::expr y : {b->a, b->b}) {
        ir::expr const c = x == a->a ? a->b : a->a;
        if (c != (y == b->a ? b->b : b->a)) continue;
        std::int64_t const by = difference_between(x, y, ranges);
        no_more_than(by > 0 ? by : 0);
      }
  differences_.push_back({a, b, most});
  return most;
}
WEFT_DECL ir::expr index_spans::least(ir::expr a, ir::expr b, range_table const& ranges) {
  return difference(a, b, ranges) <= 0 ? a : difference(b, a, ranges) <= 0 ? b : arithmetic(op::min, a, b);
}
WEFT_DECL ir::expr index_spans::most(ir::expr a, ir::expr b, range_table const& ranges) {
  return difference(b, a, ranges) <= 0 ? a : difference(a, b, ranges) <= 0 ? b : arithmetic(op::max, a, b);
}
WEFT_DECL span index_spans::around(span a, span b, range_table const& ranges) {
  if (!a.known() || !b.known()) return {};
  return {least(a.low, b.low, ranges), most(a.high, b.high, ranges)};
}

}  // namespace detail
}  // namespace weft::inline WEFT_ABI
