// x times a smooth step of a cubic of x, as one function. For math.ipp only.
#pragma once

#include "weft/expr/math/exponential.hpp"
#include "weft/expr/math/tanh_step.hpp"

namespace weft::inline WEFT_ABI {
namespace detail::math {

/// What a node is as a polynomial of another, with numbers as coefficients.
struct cubic_form {
  double c[4] = {};
  bool found = false;
};
inline cubic_form sum_of(cubic_form a, cubic_form const& b, double sign) {
  a.found = a.found && b.found;
  for (int k = 0; k < 4; ++k) a.c[k] += sign * b.c[k];
  return a;
}
inline cubic_form product_of(cubic_form const& a, cubic_form const& b) {
  cubic_form r;
  r.found = a.found && b.found;
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) {
      double const term = a.c[i] * b.c[j];
      if (i + j < 4) r.c[i + j] += term;
      else r.found = r.found && term == 0;
    }
  return r;
}
/// Node `id` as a polynomial of node `x`. `depth`: operations that are nested at most.
inline cubic_form cubic_of(program const& p, int id, int x, int depth = 8) {
  cubic_form r;
  node const& n = p.at(id);
  if (n.type != dtype::f32 || depth == 0) return r;
  if (id == x) {
    r.c[1] = 1, r.found = true;
    return r;
  }
  if (n.kind == op::literal) {
    r.c[0] = static_cast<double>(from_bits<float>(n.value)), r.found = true;
    return r;
  }
  if (n.kind == op::neg) return sum_of({{}, true}, cubic_of(p, n.a, x, depth - 1), -1);
  if (n.kind != op::add && n.kind != op::sub && n.kind != op::mul) return r;
  cubic_form const a = cubic_of(p, n.a, x, depth - 1);
  if (!a.found) return r;
  cubic_form const b = cubic_of(p, n.b, x, depth - 1);
  return n.kind == op::mul ? product_of(a, b) : sum_of(a, b, n.kind == op::sub ? -1 : 1);
}

/// scale * x / (1 + 2^(linear x + cubic x^3)), which `x` is a node of; x < 0: it is none. Both numbers have one sign, and at `farthest` the
/// exponent is -125.
struct gate {
  int x = -1;
  double scale = 1, linear = 0, cubic = 0, farthest = 0;
};
/// Takes the literal factors of node `id` into `scale`; returns what is left of it.
inline int without_literals(program const& p, int id, double& scale) {
  for (;;) {
    node const& n = p.at(id);
    if (n.kind != op::mul || n.type != dtype::f32) return id;
    bool const first = p.at(n.a).kind == op::literal;
    if (!first && p.at(n.b).kind != op::literal) return id;
    scale *= static_cast<double>(from_bits<float>(p.at(first ? n.a : n.b).value));
    id = first ? n.b : n.a;
  }
}
/// `step` is 1 + tanh(q), 1 - tanh(q) or sigmoid(q), and q an odd cubic of x.
inline gate gate_of_step(program const& p, int step, int x, double scale) {
  constexpr double log2_e = 0x1.71547652b82fep+0;
  node const& n = p.at(step);
  int const tanh = tanh_beside_one(p, n);
  if (n.type != dtype::f32 || (tanh < 0 && n.kind != op::sigmoid)) return {};
  cubic_form const q = cubic_of(p, p.at(tanh >= 0 ? tanh : step).a, x);
  double const times = -log2_e * (tanh < 0 ? 1 : n.kind == op::sub ? -2 : 2);
  gate g{x, tanh < 0 ? scale : 2 * scale, times * q.c[1], times * q.c[3]};
  // Of numbers that f32 has, also as they stand in the products below; a linear one may be 0.
  auto const fits = [](double v) { return (v < 0x1p60 && v >= 0x1p-100) || (v > -0x1p60 && v <= -0x1p-100); };
  // Without a cubic term the argument may have no rounding of its own, which here it would get.
  bool const is_odd_cubic = q.found && q.c[0] == 0 && q.c[2] == 0 && q.c[3] != 0 && q.c[1] * q.c[3] >= 0;
  if (!is_odd_cubic || (g.linear != 0 && !fits(g.linear)) || !fits(g.cubic) || !fits(g.scale)) return {};
  double below = 0, above = 0x1p60;
  for (int k = 0; k < 90; ++k) {
    double const mid = (below + above) / 2, y = mid * (g.linear + g.cubic * mid * mid);
    (y < -125 || y > 125 ? above : below) = mid;
  }
  g.farthest = g.cubic < 0 ? below : -below;
  return below < 0x1p59 ? g : gate();
}
inline gate gate_of(program const& p, node const& n) {
  if (n.kind != op::mul || n.type != dtype::f32) return {};
  double scale = 1;
  int a = n.a, b = n.b;
  if (p.at(a).kind == op::literal || p.at(b).kind == op::literal) {
    bool const first = p.at(a).kind == op::literal;
    scale = static_cast<double>(from_bits<float>(p.at(first ? a : b).value));
    node const& rest = p.at(without_literals(p, first ? b : a, scale));
    if (rest.kind != op::mul || rest.type != dtype::f32) return {};
    a = rest.a, b = rest.b;
  }
  a = without_literals(p, a, scale), b = without_literals(p, b, scale);
  gate const g = gate_of_step(p, b, a, scale);
  return g.x >= 0 ? g : gate_of_step(p, a, b, scale);
}

/// With y = linear x + cubic x^3, n = round(y) and r = y - n, which is rounded once, e = 2^n 2^r is added to 1. What counts is how y is
/// rounded, as in the operations one by one, so 2^r to 2^-23.3 is enough (docs/decisions/068).
/// Where y is beyond 128, n is 128 and r as large as it is: 2^r is above 1, since no coefficient is negative, e is infinity and the result
/// 0. Below -125 x is held, and e is nothing beside 1. A scale above 1 comes last: an x that it makes infinite may belong to a result of 0.
inline num gated(num x, gate const& g) {
  num const limit = literal(x, g.farthest), near = g.cubic < 0 ? min(limit, x) : max(limit, x);
  num const slope = mad(near * near, g.cubic, g.linear), n = min(literal(x, 128.0), one(op::round, near * slope));
  num const r = mad(near, slope, -n), e = scaled(mad(r, polynomial(r, exp2_short_f32), 1), n);
  num const whole = e + 1;
  if (g.scale == 1) return x / whole;
  return g.scale < 1 && g.scale > -1 ? x * g.scale / whole : x / whole * g.scale;
}

}  // namespace detail::math
}  // namespace weft::inline WEFT_ABI
