// What the expansions of math functions are written in: numbers whose operators append nodes. For .ipp files only.
#pragma once

#include <concepts>
#include <type_traits>

#include "weft/expr/program.hpp"

namespace weft::inline WEFT_ABI {
namespace detail::math {

/// A node of the program that is being expanded. `fused`: whether op::fma may be used.
struct num {
  program* to = nullptr;
  bool fused = false;
  dtype type = dtype::f32;
  int id = -1;
  bool single() const { return type == dtype::f32 || type == dtype::i32; }
};

template <class T>
concept number = std::same_as<T, num> || std::is_arithmetic_v<T>;
template <class A, class B>
concept numbers = number<A> && number<B> && (std::same_as<A, num> || std::same_as<B, num>);

inline num append(op o, num like, dtype type, num a, num b = {}, num c = {}) {
  return {like.to, like.fused, type, like.to->operation(o, type, a.id, b.id, c.id)};
}
/// `v` as a literal of the type of `like`; integers wrap.
inline num literal(num like, double v) {
  std::int64_t const bits = like.type == dtype::f32 ? to_bits(static_cast<float>(v)) : to_bits(v);
  return {like.to, like.fused, like.type, like.to->literal(like.type, bits)};
}
inline num literal(num like, std::int64_t v) {
  if (is_float(like.type)) return literal(like, static_cast<double>(v));
  std::int64_t const bits = like.type == dtype::i32 ? static_cast<std::int32_t>(v) : v;
  return {like.to, like.fused, like.type, like.to->literal(like.type, bits)};
}
template <number T>
num as(num like, T v) {
  if constexpr (std::same_as<T, num>) return v;
  else if constexpr (std::is_integral_v<T>) return literal(like, static_cast<std::int64_t>(v));
  else return literal(like, static_cast<double>(v));
}
template <class A, class B>
num typed(A a, B b) {
  if constexpr (std::same_as<A, num>) return a;
  else return b;
}
template <class A, class B>
  requires numbers<A, B>
num two(op o, A a, B b) {
  num const like = typed(a, b);
  num const x = as(like, a), y = as(like, b);
  return append(o, like, is_comparison(o) ? dtype::boolean : x.type, x, y);
}
// clang-format off
template <class A, class B> requires numbers<A, B> num operator+(A a, B b) { return two(op::add, a, b); }
template <class A, class B> requires numbers<A, B> num operator-(A a, B b) { return two(op::sub, a, b); }
template <class A, class B> requires numbers<A, B> num operator*(A a, B b) { return two(op::mul, a, b); }
template <class A, class B> requires numbers<A, B> num operator/(A a, B b) { return two(op::div, a, b); }
template <class A, class B> requires numbers<A, B> num operator&(A a, B b) { return two(op::bit_and, a, b); }
template <class A, class B> requires numbers<A, B> num operator|(A a, B b) { return two(op::bit_or, a, b); }
template <class A, class B> requires numbers<A, B> num operator^(A a, B b) { return two(op::bit_xor, a, b); }
template <class A, class B> requires numbers<A, B> num operator<<(A a, B b) { return two(op::shl, a, b); }
template <class A, class B> requires numbers<A, B> num operator>>(A a, B b) { return two(op::shr, a, b); }
template <class A, class B> requires numbers<A, B> num operator<(A a, B b) { return two(op::lt, a, b); }
template <class A, class B> requires numbers<A, B> num operator<=(A a, B b) { return two(op::le, a, b); }
template <class A, class B> requires numbers<A, B> num operator==(A a, B b) { return two(op::eq, a, b); }
/// a < b ? a : b: of a NaN in either, b.
template <class A, class B> requires numbers<A, B> num min(A a, B b) { return two(op::min, a, b); }
template <class A, class B> requires numbers<A, B> num max(A a, B b) { return two(op::max, a, b); }
// clang-format on
inline num one(op o, num a) { return append(o, a, a.type, a); }
inline num operator-(num a) { return one(op::neg, a); }
inline num operator!(num a) { return one(op::logical_not, a); }
inline num both(num a, num b) { return append(op::logical_and, a, dtype::boolean, a, b); }
inline num either(num a, num b) { return append(op::logical_or, a, dtype::boolean, a, b); }
template <class A, class B>
  requires numbers<A, B>
num choose(op o, num condition, A a, B b) {
  num const like = typed(a, b);
  num const x = as(like, a), y = as(like, b);
  return append(o, like, x.type, condition, x, y);
}
/// condition ? a : b, both computed.
template <class A, class B>
  requires numbers<A, B>
num blend(num condition, A a, B b) {
  return choose(op::blend, condition, a, b);
}
/// condition ? a : b, where a is jumped over when no lane wants it.
template <class A, class B>
  requires numbers<A, B>
num rare(num condition, A a, B b) {
  return choose(op::rare, condition, a, b);
}

/// a * b + c: rounded once where there is an fma, else twice.
template <number B, number C>
num mad(num a, B b, C c) {
  num const y = as(a, b), z = as(a, c);
  return a.fused ? append(op::fma, a, a.type, a, y, z) : a * y + z;
}
/// c - a * b
template <number B, number C>
num less(C c, num a, B b) {
  num const y = as(a, b), z = as(a, c);
  return a.fused ? append(op::fma, a, a.type, -a, y, z) : z - a * y;
}

// --- bits -----------------------------------------------------------------------------------------------------

inline num bits(num x) { return append(op::bitcast, x, x.single() ? dtype::i32 : dtype::i64, x); }
inline num real(num x) { return append(op::bitcast, x, x.single() ? dtype::f32 : dtype::f64, x); }
inline num cast(num x, dtype type) { return x.type == type ? x : append(op::cast, x, type, x); }
inline std::int64_t sign_mask(num x) { return x.single() ? std::int64_t(INT32_MIN) : INT64_MIN; }
inline int mantissa_bits(num x) { return x.single() ? 23 : 52; }
inline num magnitude(num x) { return real(bits(x) & ~sign_mask(x)); }
inline num sign(num x) { return bits(x) & sign_mask(x); }
/// x with its sign changed where `sign` (bits of 0 or -0) is negative.
inline num flipped(num x, num sign) { return real(bits(x) ^ sign); }
/// |x| is at most 2^mantissa_bits / 4: x + this has x, rounded to an integer, in its low bits.
inline double rounding_magic(num x) { return x.single() ? 0x1.8p23 : 0x1.8p52; }
inline double infinity() { return __builtin_inf(); }
inline double not_a_number() { return __builtin_nan(""); }
inline double smallest_normal(num x) { return x.single() ? 0x1p-126 : 0x1p-1022; }

// --- two numbers for one: high + low ----------------------------------------------------------------------------

struct pair {
  num high, low;
};
/// a + b without error, if |a| >= |b| or a is 0. Source: T. J. Dekker, Numerische Mathematik 18 (1971).
inline pair fast_sum(num a, num b) {
  num const s = a + b;
  return {s, b - (s - a)};
}
/// a + b without error. Source: D. Knuth, The Art of Computer Programming 2, section 4.2.2.
inline pair exact_sum(num a, num b) {
  num const s = a + b, v = s - a;
  return {s, (a - (s - v)) + (b - v)};
}
/// a * b without error, where neither product nor halves overflow. Source: Dekker, as above, from G. W. Veltkamp.
inline pair exact_product(num a, num b) {
  num const p = a * b;
  if (a.fused) return {p, mad(a, b, -p)};
  auto const halves = [](num x) {
    num const t = x * (x.single() ? 0x1.002p12 : 0x1.0000002p27), h = t - (t - x);
    return pair{h, x - h};
  };
  pair const x = halves(a), y = halves(b);
  return {p, ((x.high * y.high - p) + x.high * y.low + x.low * y.high) + x.low * y.low};
}
/// c - a * b, near 0: rounded once.
inline num residual(num c, num a, num b) {
  if (a.fused) return less(c, a, b);
  pair const p = exact_product(a, b);
  return (c - p.high) - p.low;
}

// --- polynomials ------------------------------------------------------------------------------------------------

/// c[0] + c[step] x + c[2 step] x^2 + ..., `count` terms. square[0] is x, square[1] its square, and so on.
///
/// By Horner's rule, the fewest operations, up to `longest` terms. More are cut into odd and even powers, again and again,
/// which is an operation more each time and half as long to wait for: what a processor has under way at a time holds only
/// a few iterations of such a loop. Log of f32, 9 terms: 0.54 -> 0.45 ns (EPYC Milan, loaded, 2026-11-21). Where terms
/// of either sign cancel, the parts are larger than the whole, and cutting costs up to a unit in the last place.
inline num polynomial(num const* square, double const* c, int count, int longest, int step = 1) {
  if (count > longest) {
    num const even = polynomial(square + 1, c, (count + 1) / 2, longest, 2 * step);
    return mad(*square, polynomial(square + 1, c + step, count / 2, longest, 2 * step), even);
  }
  num p = literal(*square, c[(count - 1) * step]);
  for (int k = count - 2; k >= 0; --k) p = mad(*square, p, c[k * step]);
  return p;
}
/// From c[first] on.
template <int Count>
num polynomial(num x, double const (&c)[Count], int longest = 5, int first = 0) {
  num square[] = {x, x, x, x};
  static_assert(Count <= 40);
  for (int k = 1, count = Count - first; count > longest; ++k, count = (count + 1) / 2)
    square[k] = square[k - 1] * square[k - 1];
  return polynomial(square, c + first, Count - first, longest);
}

}  // namespace detail::math
}  // namespace weft::inline WEFT_ABI
