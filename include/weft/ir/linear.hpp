// Integer expressions as sums of multiples.
#pragma once

#include "weft/ir/ir.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

/// constant + sum of coefficient * atom, atoms sorted by their number.
struct linear {
  struct term {
    ir::expr atom;
    std::int64_t coefficient;
  };
  sequence<term> terms;
  std::int64_t constant = 0;

  // Modulo 2^64, as the program itself computes: data of type i64 is taken apart like indices.
  static std::int64_t wrapped(op o, std::int64_t a, std::int64_t b) { return apply(o, dtype::i64, a, b); }
  void add(ir::expr atom, std::int64_t c) {
    std::size_t i = 0;
    while (i < terms.size() && terms[i].atom->id < atom->id) ++i;
    if (i < terms.size() && terms[i].atom == atom) {
      terms[i].coefficient = wrapped(op::add, terms[i].coefficient, c);
      if (terms[i].coefficient == 0) terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(i));
    } else if (c != 0) {
      terms.insert(terms.begin() + static_cast<std::ptrdiff_t>(i), {atom, c});
    }
  }
  void add(linear const& o, std::int64_t scale) {
    constant = wrapped(op::add, constant, wrapped(op::mul, o.constant, scale));
    for (term const& t : o.terms) add(t.atom, wrapped(op::mul, t.coefficient, scale));
  }
};

inline bool small(std::int64_t v) { return v > -(std::int64_t(1) << 31) && v < (std::int64_t(1) << 31); }
/// The largest number that divides both; of 0 and a number, that number.
inline std::int64_t common_divisor(std::int64_t a, std::int64_t b) {
  while (b != 0) {
    std::int64_t const rest = a % b;
    a = b, b = rest;
  }
  return a < 0 ? -a : a;
}

/// Takes the terms apart from the highest number down. Operands have smaller numbers than what is made of them, so
/// each node's turn comes once, when all that leads to it has been added up: (e + e) * 3 thirty deep is 60 steps.
inline linear linear_form(ir::expr e) {
  linear l;
  l.add(e, 1);
  for (std::size_t whole = 0; whole < l.terms.size();) {  // the last `whole` terms stay as they are
    auto const last = static_cast<std::ptrdiff_t>(l.terms.size() - whole) - 1;
    auto const [t, c] = l.terms[static_cast<std::size_t>(last)];
    bool const scaled = t->kind == op::mul && (t->a->kind == op::literal || t->b->kind == op::literal);
    ir::expr const factor = !scaled ? nullptr : t->b->kind == op::literal ? t->b : t->a;
    if (t->kind != op::literal && t->kind != op::add && t->kind != op::sub && t->kind != op::neg &&
        !(scaled && small(factor->value) && small(c))) {
      ++whole;
      continue;
    }
    l.terms.erase(l.terms.begin() + last);
    std::int64_t const minus = linear::wrapped(op::sub, 0, c);
    if (t->kind == op::literal) l.constant = linear::wrapped(op::add, l.constant, linear::wrapped(op::mul, t->value, c));
    else if (scaled) l.add(factor == t->b ? t->a : t->b, c * factor->value);
    else l.add(t->a, t->kind == op::neg ? minus : c);
    if (t->kind == op::add || t->kind == op::sub) l.add(t->b, t->kind == op::sub ? minus : c);
  }
  return l;
}
inline ir::expr rebuild(ir::arena& m, linear const& l, int lanes = 1) {
  auto const number = [&](std::int64_t v) { return ir::literal(m, dtype::i64, v, lanes); };
  ir::expr sum = nullptr;
  for (linear::term const& t : l.terms) {
    ir::expr const scaled = ir::binary(m, op::mul, t.atom, number(t.coefficient));
    sum = sum == nullptr ? scaled : ir::binary(m, op::add, sum, scaled);
  }
  if (sum == nullptr) return number(l.constant);
  return l.constant == 0 ? sum : ir::binary(m, op::add, sum, number(l.constant));
}
/// Whether it surely is a multiple of n, which is positive, by what it is made of.
inline bool is_multiple(ir::expr e, std::int64_t n) {
  if (n == 1) return true;
  if (e->kind == op::literal) return e->value % n == 0;
  if (e->kind == op::add || e->kind == op::sub) return is_multiple(e->a, n) && is_multiple(e->b, n);
  if (e->kind != op::mul) return false;
  auto const by = [&](ir::expr literal, ir::expr other) { return is_multiple(other, n / common_divisor(literal->value, n)); };
  if (e->b->kind == op::literal) return by(e->b, e->a);
  return e->a->kind == op::literal ? by(e->a, e->b) : is_multiple(e->a, n) || is_multiple(e->b, n);
}

}  // namespace detail
}  // namespace weft::inline WEFT_ABI
