#include "weft/ir/linear.hpp"
#include "weft/ir/simplify.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

/// number * factors; a vector of equal factors stands as one of them.
struct product {
  std::int64_t number = 1;
  sequence<ir::expr> factors;

  void multiply(ir::expr e) {
    if (e->kind == op::broadcast) e = e->a;
    if (e->kind == op::literal) number = linear::wrapped(op::mul, number, e->value);
    else if (e->kind == op::mul) multiply(e->a), multiply(e->b);
    else factors.push_back(e);
  }
  /// Takes one factor out.
  bool take(ir::expr e) {
    for (std::size_t i = 0; i < factors.size(); ++i)
      if (factors[i] == e) return factors.erase(factors.begin() + static_cast<std::ptrdiff_t>(i)), true;
    return false;
  }
};
inline bool surely_positive(ir::expr e) {
  if (e->kind == op::broadcast) return surely_positive(e->a);
  if (e->kind == op::mul) return surely_positive(e->a) && surely_positive(e->b);
  return e->kind == op::extent || (e->kind == op::literal && e->value > 0);  // products of sizes do not wrap
}
/// Takes the factor (x / e), of the x and e of `modulo`, out of `p`.
inline bool take_quotient(product& p, ir::expr modulo) {
  for (ir::expr f : p.factors)
    if (f->kind == op::floor_div && f->a == modulo->a && f->b == modulo->b) return p.take(f);
  return false;
}
/// One pair of terms, n * .. * (x / e) * e and n * .. * (x % e), becomes a term of x; false: there is none.
inline bool rejoin_one(ir::arena& m, linear& l) {
  for (linear::term const r : l.terms) {
    if (r.atom->kind != op::floor_mod && r.atom->kind != op::mul) continue;
    product rest;
    rest.multiply(r.atom);
    ir::expr modulo = nullptr;
    for (ir::expr f : rest.factors)
      if (f->kind == op::floor_mod && surely_positive(f->b)) modulo = f;
    if (modulo == nullptr) continue;
    rest.take(modulo);
    rest.number = linear::wrapped(op::mul, rest.number, r.coefficient);
    for (linear::term const q : l.terms) {
      if (q.atom->kind != op::floor_div && q.atom->kind != op::mul) continue;
      product whole, wanted = rest;
      whole.multiply(q.atom);
      whole.number = linear::wrapped(op::mul, whole.number, q.coefficient);
      wanted.multiply(modulo->b);
      bool same = take_quotient(whole, modulo) && whole.number == wanted.number;
      for (ir::expr f : wanted.factors) same = same && whole.take(f);
      if (!same || !whole.factors.empty()) continue;
      ir::expr x = modulo->a;
      for (ir::expr f : rest.factors) x = ir::binary(m, op::mul, x, ir::broadcast(m, f, x->lanes));
      l.add(r.atom, linear::wrapped(op::sub, 0, r.coefficient));
      l.add(q.atom, linear::wrapped(op::sub, 0, q.coefficient));
      l.add(linear_form(x), rest.number);
      return true;
    }
  }
  return false;
}
inline linear rejoined(ir::arena& m, linear l) {
  while (rejoin_one(m, l)) {
  }
  return l;
}

inline bool infinite(std::int64_t v) { return v >= interval::unbounded || v <= -interval::unbounded; }
inline std::int64_t times(std::int64_t a, std::int64_t b) {
  std::int64_t r = 0;
  if (!__builtin_mul_overflow(a, b, &r) && !infinite(r)) return r;
  return (a < 0) == (b < 0) ? interval::unbounded : -interval::unbounded;
}
inline std::int64_t plus(std::int64_t a, std::int64_t b) {
  if (infinite(a)) return a;  // infinity stays infinity whatever is added to it
  if (infinite(b)) return b;
  std::int64_t const r = a + b;
  return !infinite(r) ? r : r > 0 ? interval::unbounded : -interval::unbounded;
}
/// A question about a range visits so many nodes; beyond, nothing is known. A sorting network of min and max has
/// two ways through each of its comparisons: 25 values took 7.7 s, now 60 ms in all (2026-11-21).
inline constexpr int visits_of_one_range = 128;
interval range_of(ir::expr e, range_table const& ranges, int& visits);
inline interval range_of(linear const& l, range_table const& ranges, int& visits) {
  interval r{l.constant, l.constant};
  for (linear::term const& t : l.terms) {
    interval const a = range_of(t.atom, ranges, visits);
    std::int64_t const x = times(a.low, t.coefficient), y = times(a.high, t.coefficient);
    r.low = plus(r.low, x < y ? x : y);
    r.high = plus(r.high, x < y ? y : x);
  }
  return r;
}
/// Whether the form's value is the sum that it reads as. Of data that may be any i64, the sum may have wrapped.
inline bool is_exact(linear const& l, range_table const& ranges) {
  int visits = visits_of_one_range;
  interval const r = range_of(l, ranges, visits);
  return !infinite(r.low) && !infinite(r.high);
}
inline std::int64_t low_of(linear const& l, range_table const& ranges, int& visits);
inline interval range_of(linear const& l, range_table const& ranges) {
  int visits = visits_of_one_range;
  interval r = range_of(l, ranges, visits);
  if (!ranges.knows_loops()) return r;
  linear minus;
  minus.add(l, -1);
  std::int64_t const low = low_of(l, ranges, visits = visits_of_one_range);
  std::int64_t const high = -low_of(minus, ranges, visits = visits_of_one_range);
  return {low > r.low ? low : r.low, high < r.high ? high : r.high};
}
/// Of an integer of any type, by its type and by what chooses among such: sums may have wrapped. `depth`: choices looked
/// into, as operands may be shared.
inline interval range_of_element(ir::expr e, int depth = 6) {
  if (e->kind == op::literal && !is_float(e->type)) return {e->value, e->value};
  if (depth > 0 && (e->kind == op::min || e->kind == op::max || e->kind == op::select)) {
    interval const a = range_of_element(e->kind == op::select ? e->c : e->a, depth - 1);
    interval const b = range_of_element(e->b, depth - 1);
    bool const lower = e->kind == op::min, upper = e->kind == op::max;
    return {(a.low < b.low) != upper ? a.low : b.low, (a.high < b.high) == lower ? a.high : b.high};
  }
  if (e->kind == op::cast && is_integer(e->type) && size_bytes(e->a->type) < size_bytes(e->type) &&
      (is_signed_integer(e->type) || !is_signed_integer(e->a->type)) && !is_float(e->a->type))
    return range_of_element(e->a, depth);
  if (e->type == dtype::boolean) return {0, 1};
  if (!is_integer(e->type) || size_bytes(e->type) == 8) return {};
  int const bits = size_bytes(e->type) * 8 - (is_signed_integer(e->type) ? 1 : 0);
  std::int64_t const high = (std::int64_t(1) << bits) - 1;
  return {is_signed_integer(e->type) ? -high - 1 : 0, high};
}
/// Of (v / a) / b, where v counts a loop of a * b * n iterations, n being a size or a number: at most n - 1.
inline bool quotient_of_loop(ir::expr e, range_table const& ranges, linear& most) {
  product divisor;
  for (; e->kind == op::floor_div; e = e->a) divisor.multiply(e->b);
  if (e->kind != op::axis) return false;
  range_table::entry const v = ranges.known(static_cast<std::int32_t>(e->value));
  if (v.extent == nullptr || !ir::is_literal(v.begin, 0)) return false;
  product rest;
  rest.multiply(v.extent);
  for (ir::expr f : divisor.factors)
    if (!surely_positive(f) || !rest.take(f)) return false;
  if (divisor.number <= 0 || rest.number % divisor.number != 0 || rest.factors.size() > 1) return false;
  most.constant = -1;
  if (rest.factors.empty()) most.constant += rest.number / divisor.number;
  else most.add(rest.factors[0], rest.number / divisor.number);
  return true;
}
inline interval range_of_atom(ir::expr e, range_table const& ranges, int& visits) {
  auto const of = [&](ir::expr x) { return range_of(x, ranges, visits); };
  switch (e->kind) {
    case op::axis: return ranges.of(static_cast<std::int32_t>(e->value));
    case op::extent: return {1, std::int64_t(1) << 40};
    case op::min:
    case op::max: {
      interval const a = of(e->a), b = of(e->b);
      bool const lower = e->kind == op::min;
      // min(x, s - x) is at most s / 2: how a border mirrors an index.
      if (lower)
        if (linear sum = linear_form(e->a); (sum.add(linear_form(e->b), 1), sum.terms.empty())) {
          std::int64_t const half = floor_div(sum.constant, 2), high = a.high < b.high ? a.high : b.high;
          return {a.low < b.low ? a.low : b.low, half < high ? half : high};
        }
      return {(a.low < b.low) == lower ? a.low : b.low, (a.high < b.high) == lower ? a.high : b.high};
    }
    case op::select: {
      interval const a = of(e->b), b = of(e->c);
      return {a.low < b.low ? a.low : b.low, a.high > b.high ? a.high : b.high};
    }
    case op::floor_div:
      if (linear most; ranges.knows_loops() && quotient_of_loop(e, ranges, most))
        return {0, range_of(most, ranges, visits).high};
      if (e->b->kind == op::literal && e->b->value > 0) {
        interval const a = of(e->a);
        auto const down = [&](std::int64_t v) {
          return v <= -interval::unbounded || v >= interval::unbounded ? v : floor_div(v, e->b->value);
        };
        return {down(a.low), down(a.high)};
      }
      break;
    case op::floor_mod:
      if (e->b->kind == op::literal && e->b->value >= 0) return {0, e->b->value > 0 ? e->b->value - 1 : 0};  // x / 0 is 0
      if (ranges.knows_loops())
        if (interval const b = of(e->b); b.low >= 0) return {0, b.high > 0 ? b.high - 1 : 0};
      break;
    case op::div:
      if (e->variables != 0 || e->b->kind != op::literal || e->b->value <= 0) break;  // of sizes
      if (interval const a = of(e->a); a.low >= 0)
        return {a.low / e->b->value, infinite(a.high) ? a.high : a.high / e->b->value};
      break;
    case op::rem:
      if (e->b->kind == op::literal && e->b->value > 0) return {1 - e->b->value, e->b->value - 1};
      break;
    case op::cast: return range_of_element(e->a);
    default: break;
  }
  return {};
}

inline interval range_of(ir::expr e, range_table const& ranges, int& visits) {
  if (e->kind == op::literal) return {e->value, e->value};
  if (--visits < 0) return {};
  if (e->kind == op::add || e->kind == op::sub || e->kind == op::mul || e->kind == op::neg) {
    linear const l = linear_form(e);
    if (l.terms.size() == 1 && l.terms[0].atom == e) return {};  // a product of two unknowns
    return range_of(l, ranges, visits);
  }
  return range_of_atom(e, ranges, visits);
}

/// What the form never falls below. Loop variables, quotients, minima and maxima give way to what bounds them, so that
/// open sizes cancel: n - 1 - i with i in 0..n is at least n - 1 - (n - 1).
inline std::int64_t low_of(linear const& l, range_table const& ranges, int& visits) {
  std::int64_t const low = range_of(l, ranges, visits).low;
  for (std::size_t i = l.terms.size(); i-- > 0;) {
    if (visits <= 0) return low;
    ir::expr const t = l.terms[i].atom;
    std::int64_t const c = l.terms[i].coefficient;
    // With c * by / parts in place of c * t.
    auto const with = [&](linear const& by, std::int64_t parts = 1) {
      if (!small(c) || !is_exact(by, ranges)) return -interval::unbounded;
      linear s;
      s.add(l, parts), s.add(t, -c * parts), s.add(by, c);
      bool exact = small(s.constant);
      for (linear::term const& term : s.terms) exact = exact && small(term.coefficient);
      std::int64_t const least = exact ? low_of(s, ranges, visits) : -interval::unbounded;
      return infinite(least) ? least : ceil_div(least, parts);
    };
    std::int64_t found = 0;
    if (t->kind == op::axis) {
      range_table::entry const v = ranges.known(static_cast<std::int32_t>(t->value));
      if (v.extent == nullptr) continue;
      linear by = linear_form(v.begin);
      if (c < 0) by.add(linear_form(v.extent), 1), by.constant -= 1;
      found = with(by);
    } else if (t->kind == op::floor_div && t->b->kind == op::literal && t->b->value > 0 && small(t->b->value)) {
      linear by = linear_form(t->a);  // x - (d - 1) <= floor(x / d) * d <= x
      if (c > 0) by.constant -= t->b->value - 1;
      found = with(by, t->b->value);
    } else if (linear most; t->kind == op::floor_div && c < 0 && quotient_of_loop(t, ranges, most)) {
      found = with(most);
    } else if (t->kind == op::floor_mod && c < 0) {
      linear by = linear_form(t->b);  // x % d is less than d; x % 0 is 0
      std::int64_t const least = range_of(by, ranges, visits).low;
      if (least < 0) continue;
      by.constant -= least > 0;
      found = with(by);
    } else if (t->kind == op::min || t->kind == op::max || t->kind == op::select) {
      std::int64_t const x = with(linear_form(t->b)), y = with(linear_form(t->kind == op::select ? t->c : t->a));
      found = (x < y) == (t->kind != op::select && (t->kind == op::min) == (c < 0)) ? y : x;
      if (t->kind == op::min && c < 0 && found < 0) {  // at most half the sum: how a border mirrors an index
        linear both = linear_form(t->a);
        both.add(linear_form(t->b), 1);
        if (std::int64_t const half = with(both, 2); half > found) found = half;
      }
    } else {
      continue;
    }
    return found > low ? found : low;
  }
  return low;
}

class simplifier final : public ir::rewriter {
 public:
  simplifier(ir::arena& m, range_table ranges) : ir::rewriter(m), ranges_(static_cast<range_table&&>(ranges)) {}

 protected:
  ir::expr replace(ir::expr e) override {
    switch (e->kind) {
      case op::literal:
      case op::self: return e;
      case op::axis: {
        interval const r = ranges_.of(static_cast<std::int32_t>(e->value));
        return r.low == r.high ? ir::index(m_, r.low) : e;
      }
      default: break;
    }
    ir::expr const r = children(e);
    if (is_comparison(r->kind) && r->a->type == dtype::i64) return compared_ = 0, comparison(r);
    if (!is_index(r)) return r;
    if (r->lanes > 1) return r->kind == op::floor_div || r->kind == op::floor_mod ? division_of_lanes(r) : r;
    switch (r->kind) {
      case op::add:
      case op::sub:
      case op::mul:
      case op::neg: return rebuild(m_, rejoined(m_, linear_form(r)));
      case op::min:
      case op::max: return min_max(r);
      case op::floor_div:
      case op::floor_mod: return division(r);
      default: return r;
    }
  }
  ir::stmt replace(ir::stmt s) override {
    if (s->kind == ir::stmt_kind::loop) return loop(s);
    if (s->kind == ir::stmt_kind::branch) return branch(s);
    if (s->kind == ir::stmt_kind::block) return joined_branches(m_, children(s));
    return s->asynchronous ? copy(s) : nullptr;
  }

 private:
  /// Of which nothing is read any more, it stores zeros, and does not run on.
  ir::stmt copy(ir::stmt s) {
    ir::stmt const same = children(s);
    if (ir::copied(same->value) != nullptr) return same;
    ir::stmt_node n = *same;
    n.asynchronous = false;
    return m_.make(n);
  }
  ir::expr truth(bool value, int lanes) { return ir::literal(m_, dtype::boolean, value, lanes); }

  /// A vector of indices as base + lane * stride; false for what is neither ramp nor broadcast.
  static bool split(ir::expr e, linear& base, std::int64_t& stride) {
    stride = e->kind == op::ramp ? e->value : 0;
    if (e->lanes > 1 && e->kind != op::ramp && e->kind != op::broadcast && e->kind != op::literal) return false;
    base = linear_form(e->kind == op::ramp || e->kind == op::broadcast ? e->a : e);
    return true;
  }
  /// x < min(a, b) where one of a and b is surely greater. Of many bounds on both sides each is asked for beside each part of the others, so
  /// that the work has a limit.
  ir::expr of_bounds(ir::expr e) {
    for (bool const left : {true, false}) {
      ir::expr const bound = left ? e->a : e->b, other = left ? e->b : e->a;
      if (bound->kind != (left ? op::max : op::min)) continue;
      for (bool const first : {true, false}) {
        ir::expr const one = first ? bound->a : bound->b, rest = first ? bound->b : bound->a;
        auto const with = [&](ir::expr x) {
          ir::expr const c = left ? ir::binary(m_, e->kind, x, other) : ir::binary(m_, e->kind, other, x);
          return c->kind == op::literal ? c : comparison(c);
        };
        if (ir::expr const c = with(one); c->kind == op::literal) return c->value != 0 ? with(rest) : c;
      }
    }
    return e;
  }
  ir::expr comparison(ir::expr e) {
    bool const bounded = e->lanes == 1 && (e->kind == op::lt || e->kind == op::le) && (e->a->kind == op::max || e->b->kind == op::min);
    if (ir::expr const c = decided(e); !bounded || c->kind == op::literal || ++compared_ > most_compared) return c;
    return of_bounds(e);
  }
  ir::expr decided(ir::expr e) {
    linear x, y;
    std::int64_t sx = 0, sy = 0;
    if (!split(e->a, x, sx) || !split(e->b, y, sy)) return e;
    if (!is_exact(x, ranges_) || !is_exact(y, ranges_) || !small(sx) || !small(sy)) return e;
    x.add(y, -1);
    interval r = narrowed(range_of(x, ranges_), x);
    std::int64_t const drift = (sx - sy) * (e->lanes - 1);
    (drift < 0 ? r.low : r.high) = plus(drift < 0 ? r.low : r.high, drift);
    switch (e->kind) {
      case op::lt:
        if (r.high < 0 || r.low >= 0) return truth(r.high < 0, e->lanes);
        return without_rest(e, x, e->a, e->b);
      case op::le:
        if (r.high <= 0 || r.low > 0) return truth(r.high <= 0, e->lanes);
        return without_rest(e, x, e->b, e->a);
      default:
        if (r.low > 0 || r.high < 0) return truth(e->kind == op::ne, e->lanes);
        if (r.low == 0 && r.high == 0) return truth(e->kind == op::eq, e->lanes);
    }
    return e;
  }
  /// g * x + r < g * y asks whether x < y for each r below g, as g * y <= g * x + r asks for y <= x: one condition for elements side by side
  /// that are all there or none. `more`, which has the r, is the side of `e` that `apart`, the difference of both, has it from.
  ir::expr without_rest(ir::expr e, linear const& apart, ir::expr more, ir::expr other) {
    if (e->lanes > 1) return e;
    std::int64_t g = 0;
    for (linear::term const& t : apart.terms) {
      if (!small(t.coefficient)) return e;
      g = common_divisor(g, t.coefficient);
    }
    if (g < 2) return e;
    auto const rest = [&](std::int64_t v) { return v - floor_div(v, g) * g; };
    linear x = linear_form(more);
    if (rest(x.constant) == 0 || rest(linear_form(other).constant) != 0) return e;
    x.constant -= rest(x.constant);
    ir::expr const whole = rebuild(m_, x);
    return e->kind == op::lt ? ir::binary(m_, op::lt, whole, other) : ir::binary(m_, op::le, other, whole);
  }
  ir::expr min_max(ir::expr e) {
    linear d = linear_form(e->a);
    linear const other = linear_form(e->b);
    if (!is_exact(d, ranges_) || !is_exact(other, ranges_)) return e;
    d.add(other, -1);
    interval const r = narrowed(range_of(d, ranges_), d);
    bool const lower = e->kind == op::min;
    if (r.high <= 0) return lower ? e->a : e->b;
    if (r.low >= 0) return lower ? e->b : e->a;
    return e;
  }
  /// (g * x + r) / (g * d) = x / d where 0 <= r < g, and what is left is g * (x % d) + r: `all` as such an x and r, for the
  /// largest g between 1 and c; 0 if there is none. `reach`: how much may be added to r.
  std::int64_t common_step(linear const& all, std::int64_t c, std::int64_t reach, linear& x, linear& r) {
    std::int64_t found = 0;
    for (linear::term const& one : all.terms) {
      std::int64_t const g = common_divisor(c, one.coefficient);
      if (g <= found || g == 1 || g == c) continue;
      linear whole, rest;
      for (linear::term const& t : all.terms)
        if (t.coefficient % g == 0) whole.add(t.atom, t.coefficient / g);
        else rest.add(t.atom, t.coefficient);
      whole.constant = floor_div(all.constant, g);
      rest.constant = all.constant - whole.constant * g;
      interval const range = range_of(rest, ranges_);
      if (range.low >= 0 && range.high < g - reach) found = g, x = whole, r = rest;
    }
    return found;
  }
  /// (c * x + r) / c = x + r / c; and r / c is q where q * c <= r < (q + 1) * c.
  ir::expr division(ir::expr e) {
    if (e->b->kind != op::literal || e->b->value <= 0) return e;
    std::int64_t const c = e->b->value;
    linear whole, rest;
    linear const all = linear_form(e->a);
    if (!is_exact(all, ranges_)) return e;
    for (linear::term const& t : all.terms)
      if (t.coefficient % c == 0) whole.add(t.atom, t.coefficient / c);
      else rest.add(t.atom, t.coefficient);
    whole.constant = floor_div(all.constant, c);
    rest.constant = all.constant - whole.constant * c;
    interval const r = range_of(rest, ranges_);
    if (std::int64_t const q = floor_div(r.low, c); small(r.low) && small(r.high) && q == floor_div(r.high, c)) {
      whole.constant += q, rest.constant -= q * c;
      return rebuild(m_, e->kind == op::floor_div ? whole : rest);
    }
    linear x, inner;
    if (std::int64_t const g = common_step(rest, c, 0, x, inner); g > 0) {
      ir::expr const part = ir::binary(m_, e->kind, rebuild(m_, x), ir::index(m_, c / g));
      linear& sum = e->kind == op::floor_div ? whole : inner;
      sum.add(part, e->kind == op::floor_div ? 1 : g);
      return rebuild(m_, sum);
    }
    if (e->kind == op::floor_mod) return ir::binary(m_, op::floor_mod, rebuild(m_, rest), e->b);
    if (whole.terms.empty() && whole.constant == 0) return e;
    whole.add(ir::binary(m_, op::floor_div, rebuild(m_, rest), e->b), 1);
    return rebuild(m_, whole);
  }
  /// Lanes that lie between two multiples of what they are divided by have one quotient.
  ir::expr division_of_lanes(ir::expr e) {
    if (e->a->kind != op::ramp || e->a->value <= 0 || !small(e->a->value) || e->b->kind != op::literal || e->b->value <= 0)
      return e;
    std::int64_t const c = e->b->value, reach = e->a->value * (e->lanes - 1);
    linear const all = linear_form(e->a->a);
    if (!is_exact(all, ranges_)) return e;
    linear x, rest;
    if (!aligned(all, c, reach) && common_step(all, c, reach, x, rest) == 0) return e;
    ir::expr const of_first = (*this)(ir::binary(m_, e->kind, e->a->a, ir::index(m_, c)));
    return e->kind == op::floor_div ? ir::broadcast(m_, of_first, e->lanes)
                                    : ir::ramp(m_, of_first, e->a->value, e->lanes);
  }
  /// Whether `all` is a multiple of c and what `reach` leaves room for.
  bool aligned(linear const& all, std::int64_t c, std::int64_t reach) {
    linear rest;
    for (linear::term const& t : all.terms)
      if (t.coefficient % c != 0) rest.add(t.atom, t.coefficient);
    rest.constant = all.constant - floor_div(all.constant, c) * c;
    interval const r = range_of(rest, ranges_);
    return r.low >= 0 && r.high < c - reach;
  }
  ir::stmt loop(ir::stmt s) {
    ir::expr const begin = (*this)(s->begin), extent = (*this)(s->extent);
    if (extent->kind == op::literal && extent->value <= 0) return ir::block(m_, {});
    bool const stays = is_thread(s->how);  // a barrier may stand inside
    if (ir::is_literal(extent, 1) && !stays) return once(s, begin);
    if (ranges_.of(extent).high <= 1 && !stays) return at_most_once(s, begin, extent);
    range_table::entry const before = ranges_.known(s->variable);
    ranges_.set(s->variable, begin, extent);
    range_table::entry const now = ranges_.known(s->variable);
    if (before.range.low != now.range.low || before.range.high != now.range.high || before.begin != now.begin ||
        before.extent != now.extent)
      forget();  // copies of a nest share variables
    ir::stmt const body = (*this)(s->children[0]);
    if (body->kind == ir::stmt_kind::block && body->children.size() == 0) return body;
    return ir::loop_like(m_, s, begin, extent, body);
  }
  ir::stmt once(ir::stmt s, ir::expr begin);
  ir::stmt at_most_once(ir::stmt s, ir::expr begin, ir::expr extent);
  ir::stmt branch(ir::stmt s) {
    ir::expr const condition = (*this)(s->value);
    if (condition->kind == op::literal) {
      if (condition->value) return (*this)(s->children[0]);
      return s->children.size() > 1 ? (*this)(s->children[1]) : ir::block(m_, {});
    }
    ir::stmt const then = where(condition, true, s->children[0]);
    ir::stmt const otherwise = s->children.size() > 1 ? where(condition, false, s->children[1]) : nullptr;
    forget();
    return ir::branch(m_, condition, then, otherwise);
  }
  /// With what branches around say of the same sum.
  interval narrowed(interval r, linear const& x) const {
    for (known_sum const& k : sums_) {
      if (k.sum.terms.size() != x.terms.size()) continue;
      for (std::int64_t const sign : {1, -1}) {
        linear rest = x;
        rest.add(k.sum, -sign);
        if (!rest.terms.empty()) continue;
        std::int64_t const low = rest.constant + (sign > 0 ? k.range.low : -k.range.high), high = rest.constant + (sign > 0 ? k.range.high : -k.range.low);
        r = {low > r.low ? low : r.low, high < r.high ? high : r.high};
      }
    }
    return r;
  }
  /// In a branch on a sum of multiples of variables and sizes, `d` < 0, the sum's range is smaller, in steps of what divides them all: of tiles in
  /// pieces only the last one is cut, and it is known by how much; of those of open sizes it is known which are whole.
  ir::stmt where_sum(linear d, bool holds, ir::stmt s) {
    std::int64_t const constant = d.constant;
    std::int64_t g = 0;
    for (linear::term const& t : d.terms) {
      if ((t.atom->kind != op::axis && t.atom->kind != op::extent) || !small(t.coefficient)) return (*this)(s);
      g = common_divisor(g, t.coefficient);
    }
    d.constant = 0;
    interval r = narrowed(range_of(d, ranges_), d);
    constexpr std::int64_t far = std::int64_t(1) << 58;
    if (g == 0 || r.low < -far || r.high > far || !small(constant)) return (*this)(s);
    if (holds && -constant - 1 < r.high) r.high = -constant - 1;
    if (!holds && -constant > r.low) r.low = -constant;
    r.low = ceil_div(r.low, g) * g, r.high = floor_div(r.high, g) * g;
    sums_.push_back({d, r});
    ir::stmt const inside = (*this)(s);
    sums_.pop_back();
    return inside;
  }
  /// In a branch on c * v + constant < 0 (scalar, one variable) the variable's range is smaller.
  ir::stmt where(ir::expr condition, bool holds, ir::stmt s) {
    forget();
    if (condition->kind != op::lt && condition->kind != op::le) return (*this)(s);
    if (condition->a->type != dtype::i64 || condition->lanes > 1) return (*this)(s);
    linear d = linear_form(condition->a);
    linear const other = linear_form(condition->b);
    if (!is_exact(d, ranges_) || !is_exact(other, ranges_)) return (*this)(s);  // it may wrap
    d.add(other, -1);
    if (condition->kind == op::le) d.constant -= 1;
    if (d.terms.size() > 1) return where_sum(d, holds, s);
    if (d.terms.size() != 1 || d.terms[0].atom->kind != op::axis) return (*this)(s);
    auto const v = static_cast<std::int32_t>(d.terms[0].atom->value);
    std::int64_t const c = d.terms[0].coefficient;
    range_table::entry const before = ranges_.known(v);
    interval r = before.range;
    // holds: c v <= -constant - 1; else: c v >= -constant
    std::int64_t const bound = holds ? -d.constant - 1 : -d.constant;
    bool const upper = holds == (c > 0);
    std::int64_t const limit = upper ? floor_div(c > 0 ? bound : -bound, c > 0 ? c : -c)
                                     : ceil_div(c > 0 ? bound : -bound, c > 0 ? c : -c);
    if (upper && limit < r.high) r.high = limit;
    if (!upper && limit > r.low) r.low = limit;
    ranges_.set(v, r);
    ir::stmt const inside = (*this)(s);
    ranges_.set(v, before);
    return inside;
  }

  struct known_sum {
    linear sum;  // without a constant
    interval range;
  };
  static constexpr int most_compared = 256;
  range_table ranges_;
  sequence<known_sum> sums_;
  int compared_ = 0;  // pairs of bounds, of one comparison
};

/// Replaces `self` by values, one for each accumulate that is together with others: an accumulate whose first
/// iteration it always is becomes a store.
class self_replacement final : public ir::rewriter {
 public:
  self_replacement(ir::arena& m, sequence<ir::expr> const& by) : ir::rewriter(m), by_(by) {}

 protected:
  ir::expr replace(ir::expr e) override {
    return e->kind == op::self ? ir::broadcast(m_, by_[static_cast<std::size_t>(e->value)], e->lanes) : nullptr;
  }
  using ir::rewriter::replace;

 private:
  sequence<ir::expr> by_;
};

/// Loop variable `number` stands at its begin (or never again does) in `s`: takes it out of every `first`.
class first_iteration final : public ir::rewriter {
 public:
  first_iteration(ir::arena& m, std::int32_t number, bool at_begin)
      : ir::rewriter(m), number_(number), at_begin_(at_begin) {}

 protected:
  using ir::rewriter::replace;
  ir::stmt replace(ir::stmt s) override {
    if (s->kind == ir::stmt_kind::accumulate) return replaced(s, {s->identity});
    if (s->kind != ir::stmt_kind::together || s->children[0]->kind != ir::stmt_kind::accumulate) return nullptr;
    sequence<ir::expr> identities;
    for (ir::stmt c : s->children) identities.push_back(c->identity);
    sequence<ir::stmt> parts;
    for (ir::stmt c : s->children) parts.push_back(replaced(c, identities));
    return ir::together(m_, parts);
  }

 private:
  ir::stmt replaced(ir::stmt s, sequence<ir::expr> const& identities) {
    sequence<std::int32_t> rest;
    bool found = false;
    for (std::int32_t v : s->first) {
      if (v == number_) found = true;
      else rest.push_back(v);
    }
    if (!found) return s;
    ir::stmt_node n = *s;
    n.first = m_.make_list(at_begin_ ? rest : sequence<std::int32_t>{});
    if (at_begin_ && rest.empty()) {
      n.kind = ir::stmt_kind::store;
      n.value = self_replacement(m_, identities)(s->value);
      n.identity = nullptr;
      n.before = {};
    }
    return m_.make(n);
  }

  std::int32_t number_;
  bool at_begin_;
};

inline ir::stmt simplifier::once(ir::stmt s, ir::expr begin) {
  ir::stmt const bare = first_iteration(m_, s->variable, true)(s->children[0]);
  return (*this)(ir::substitute(m_, bare, s->variable, begin));
}
/// As a branch, no pass takes it for a loop that comes back to its elements: promotion would write one back that
/// the loop, run no time, never reached.
inline ir::stmt simplifier::at_most_once(ir::stmt s, ir::expr begin, ir::expr extent) {
  while (extent->kind == op::min && (extent->a->kind == op::literal || extent->b->kind == op::literal)) {
    bool const left = extent->a->kind == op::literal;
    if ((left ? extent->a : extent->b)->value < 1) break;
    extent = left ? extent->b : extent->a;
  }
  ir::stmt const bare = first_iteration(m_, s->variable, true)(s->children[0]);
  return (*this)(ir::branch(m_, ir::binary(m_, op::lt, ir::index(m_, 0), extent),
                            ir::substitute(m_, bare, s->variable, begin)));
}
}  // namespace detail

WEFT_DECL interval range_table::of_loop(ir::expr begin, ir::expr extent) const {
  interval const b = of(begin), e = of(extent);
  return {b.low, detail::plus(detail::plus(b.high, e.high), -1)};
}
namespace detail {
inline bool hangs_on_sizes(ir::expr e, int& visits) {
  if (e == nullptr || --visits < 0) return false;
  return e->kind == op::extent || hangs_on_sizes(e->a, visits) || hangs_on_sizes(e->b, visits) ||
         hangs_on_sizes(e->c, visits);
}
}  // namespace detail
WEFT_DECL void range_table::set(std::int32_t variable, ir::expr begin, ir::expr extent) {
  set(variable, of_loop(begin, extent));
  int visits = detail::visits_of_one_range;
  bool const varies = extent->variables != 0 || detail::hangs_on_sizes(extent, visits);
  entry& e = at(variable);
  e.begin = varies ? begin : nullptr;
  e.extent = varies ? extent : nullptr;
  knows_loops_ = knows_loops_ || varies;
}
WEFT_DECL interval range_table::of(ir::expr e) const {
  if (knows_loops_ && e->kind != op::literal) return detail::range_of(detail::linear_form(e), *this);
  int visits = detail::visits_of_one_range;
  return detail::range_of(e, *this, visits);
}
WEFT_DECL ir::expr simplify(ir::arena& m, ir::expr e, range_table const& ranges) {
  return detail::simplifier(m, ranges)(e);
}
WEFT_DECL ir::expr rejoined(ir::arena& m, ir::expr e) {
  detail::linear l = detail::linear_form(e);
  return detail::rejoin_one(m, l) ? detail::rebuild(m, detail::rejoined(m, l), e->lanes) : e;
}
WEFT_DECL ir::stmt simplify(ir::arena& m, ir::stmt s) { return detail::simplifier(m, {})(s); }

WEFT_DECL ir::expr swizzled_row(ir::arena& m, ir::buffer const* b, ir::list<ir::expr> const& indices) {
  detail::linear row;
  for (std::size_t d = 0; d + 1 < indices.size(); ++d) row.add(detail::linear_form(indices[d]), ir::rows_of_step(b, d));
  detail::linear below;
  auto const rest = [](std::int64_t v) { return (v % 8 + 8) % 8; };
  for (detail::linear::term const& t : row.terms)
    if (rest(t.coefficient) != 0) below.add(t.atom, rest(t.coefficient));
  below.constant = rest(row.constant);
  return detail::rebuild(m, below);
}

}  // namespace weft::inline WEFT_ABI
