// Logarithms. For math.ipp only.
//
// log x = k ln 2 + log(1 + f) with x = 2^k (1 + f); f64 by s = f / (2 + f), log(1 + f) = 2 atanh s, as in fdlibm's
// e_log.c (Sun Microsystems, 1993), f32 by a polynomial in f, which needs no division.
#pragma once

#include "weft/expr/math/builder.hpp"
#include "weft/expr/math/coefficients.hpp"

namespace weft::inline WEFT_ABI {
namespace detail::math {

/// Where 1 + f begins: 2/3 (f32), sqrt(1/2) (f64, and log2 of f32, where k + log2(1 + f) then hardly cancels).
inline std::int64_t first_fraction(num x) { return x.single() ? 0x3f2aaaab : 0x3fe6a09e667f3bcd; }
struct exponent_parts {
  num shifted;  // k, as an integer that stands where an exponent stands
  num k;
};
/// k of a positive normal x.
inline exponent_parts exponent_of(num x, std::int64_t first) {
  num const i = bits(x);
  if (x.single()) {
    num const e = (i - first) & (std::int64_t(-1) << 23);
    return {e, cast(e, dtype::f32) * 0x1p-23};
  }
  // With a bias, so that all is positive: there is no conversion from i64, nor a signed shift, before AVX-512.
  std::int64_t const bias = std::int64_t(1023) << 52;
  num const e = (i + (bias - first)) & (std::int64_t(0x7ff) << 52);
  return {e - bias, real((e >> 52) | std::int64_t(0x433) << 52) - (0x1p52 + 1023)};
}
inline exponent_parts exponent_of(num x) { return exponent_of(x, first_fraction(x)); }
/// s = f / (f + 2), and s^3 twice the polynomial of 2 atanh s - 2 s, over s, plus f^2: f64.
struct quotient_terms {
  num s, square, sum;
};
inline quotient_terms quotient_of(num f) {
  double twice[sizeof log_f64 / sizeof *log_f64];
  for (unsigned i = 0; i < sizeof log_f64 / sizeof *log_f64; ++i) twice[i] = 2 * log_f64[i];
  num const s = f / (f + 2), z = s * s, square = f * f;
  return {s, square, mad(z, polynomial(z, twice), square)};
}
/// k ln 2 + log(1 + f)
inline num log_sum(num k, num f) {
  if (f.single()) return mad(k, 0x1.62e43p-1, mad(f * f, polynomial(f, log_f32), f));
  quotient_terms const q = quotient_of(f);
  num const twice_left = q.square - mad(q.s, q.sum, k * 0x1.a39ef35793c76p-32);
  return mad(k, 0x1.62e42feep-1, mad(twice_left, -0.5, f));
}
/// `r`, or what a logarithm is where it has no normal value: the argument is `x`, the pole is at `pole`.
inline num with_edges(num r, num x, double pole) {
  r = blend(x < infinity(), r, x);
  return blend(literal(x, pole) < x, r, blend(x == pole, literal(x, -infinity()), not_a_number()));
}
/// `of_normal(x, k)`, the logarithm of a normal x 2^k, for any x. What is not positive, normal and finite is rare.
template <class F>
num logarithm(num x, F const& of_normal) {
  // bits(x) - least < beyond - least without signs, by turning the circle of integers half way on.
  num const turned = bits(x) + (x.single() ? 0x7f800000 : 0x7ff0000000000000);
  num const usual = turned < (x.single() ? -0x01000000 : -0x0020000000000000);
  num const scaled = of_normal(x * (x.single() ? 0x1p24 : 0x1p54), x.single() ? -24.0 : -54.0);
  return rare(!usual, with_edges(scaled, x, 0), of_normal(x, 0.0));
}
inline num log(num x) {
  return logarithm(x, [](num a, double k) {
    exponent_parts const e = exponent_of(a);
    return log_sum(k < 0 ? e.k + k : e.k, real(bits(a) - e.shifted) - 1);
  });
}
/// k + log2 e (f + what is beyond it). f64: k + f times the first part of log2 e is one number and what it leaves.
inline num log2(num x) {
  return logarithm(x, [](num a, double k) {
    exponent_parts const e = exponent_of(a, a.single() ? 0x3f3504f3 : first_fraction(a));
    num const f = real(bits(a) - e.shifted) - 1, whole = k < 0 ? e.k + k : e.k;
    double const high = a.single() ? 0x1.715476p+0 : 0x1.71547652b82fep+0;
    double const low = a.single() ? 0x1.4ae0cp-26 : 0x1.777d0ffda0d24p-56;
    if (a.single()) return whole + mad(f, high, mad(f * f, polynomial(f, log2_tail_f32), f * low));
    quotient_terms const q = quotient_of(f);
    num const twice_tail = mad(q.s, q.sum, -q.square);  // 2 (log(1 + f) - f)
    if (a.fused) {
      num const sum = mad(f, high, whole);
      return sum + mad(twice_tail, high / 2, mad(f, low, mad(f, high, whole - sum)));
    }
    pair const p = exact_product(f, literal(a, high)), sum = fast_sum(whole, p.high);
    return sum.high + (sum.low + (p.low + mad(f, low, twice_tail * (high / 2))));
  });
}
/// 1 + x may round; f comes from x itself: x 2^-k + (2^-k - 1). Four times 2^-k is normal for every k.
inline num log1p(num x) {
  num const y = x + 1;
  exponent_parts const e = exponent_of(y);
  std::int64_t const four = x.single() ? 0x40800000 : std::int64_t(0x401) << 52;
  num const f = real(bits(x) - e.shifted) + mad(real(four - e.shifted), 0.25, -1);
  num const r = real(bits(log_sum(e.k, f)) | sign(x));  // log1p(-0)
  // 0 < y < infinity, as in `logarithm`: bits(y) - 1 < infinity's - 1 without signs.
  auto const lower = static_cast<std::int64_t>(static_cast<std::uint64_t>(sign_mask(x)) - 1);  // as i64 wraps
  num const usual = bits(y) + lower < sign_mask(x) + (x.single() ? 0x7f7fffff : 0x7fefffffffffffff);
  return rare(!usual, with_edges(r, x, -1), r);
}

}  // namespace detail::math
}  // namespace weft::inline WEFT_ABI
