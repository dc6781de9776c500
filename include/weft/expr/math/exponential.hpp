// exp and what is made of it. For math.ipp only.
//
// e^x = 2^n e^r with n = round(x / ln 2), |r| <= ln 2 / 2: W. J. Cody and W. Waite, Software Manual for the Elementary
// Functions, 1980, chapter 6.
#pragma once

#include "weft/expr/math/builder.hpp"
#include "weft/expr/math/coefficients.hpp"

namespace weft::inline WEFT_ABI {
namespace detail::math {

struct reduced {
  num r, n;
  num biased;  // bits whose low ones hold n + bias
};
/// x = n ln 2 + r.
inline reduced reduce_exponent(num x, int bias) {
  double const magic = rounding_magic(x) + bias;
  num const shifted = mad(x, 0x1.71547652b82fep+0, magic), n = shifted - magic;
  // ln 2 in two parts; n times the first is exact, by fma or because its last bits are 0.
  double const high = x.single() ? x.fused ? 0x1.62e43p-1 : 0x1.63p-1 : x.fused ? 0x1.62e42fefa39efp-1 : 0x1.62e42feep-1;
  double const low = x.single() ? x.fused ? -0x1.05c61p-29 : -0x1.bd0106p-13
                                : x.fused ? 0x1.abc9e3b39803fp-56 : 0x1.a39ef35793c76p-33;
  return {less(less(x, n, high), n, low), n, bits(shifted)};
}
inline int exponent_bias(num x) { return x.single() ? 127 : 1023; }
/// 2^n where the low bits of `biased` hold n + exponent_bias: n from -126 to 127.
inline num power_of_two(num biased) { return real(biased << mantissa_bits(biased)); }
/// 2^n as a product of two, where the low bits hold n + 2 exponent_bias: n may be twice as large. A bias of 2 * 127 is
/// one of 127 for each half.
struct halves {
  num lower, upper;
};
inline halves power_in_halves(num biased) {
  int const m = mantissa_bits(biased);
  num const whole = biased << m, half = (biased << (m - 1)) & (std::int64_t(-1) << m);
  return {real(half), real(whole - half)};
}
/// p * 2^n. Results beyond the normal numbers round once, and infinity comes of itself.
inline num scaled(num p, num n) { return two(op::scaleb, p, n); }
inline num exp_polynomial(num r) { return r.single() ? polynomial(r, exp_f32) : polynomial(r, exp_f64); }
/// e^r - 1
inline num expm1_core(num r) { return mad(r * r, exp_polynomial(r), r); }
/// x, brought into [low, high]; NaN stays.
inline num clamped(num x, double low, double high) { return min(as(x, high), max(as(x, low), x)); }

inline num exp(num x) {
  x = x.single() ? clamped(x, -104, 89) : clamped(x, -746, 710);
  reduced const d = reduce_exponent(x, 2 * exponent_bias(x));
  // By fma, a rounding less where e^r is below 1 and shows it most.
  num const p = x.fused ? mad(d.r, mad(d.r, exp_polynomial(d.r), 1), 1) : expm1_core(d.r) + 1;
  return scaled(p, d.n);
}
inline num exp2(num x) {
  x = x.single() ? clamped(x, -151, 129) : clamped(x, -1076, 1025);
  double const magic = rounding_magic(x) + 2 * exponent_bias(x);
  num const n = (x + magic) - magic, r = x - n;
  num const p = x.single() ? polynomial(r, exp2_f32, 6) : polynomial(r, exp2_f64);
  return scaled(mad(r, p, 1), n);
}
/// 2^n (e^r - 1) + (2^n - 1). Half of it, since 2^n may be too large by one factor of 2.
inline num expm1(num x) {
  num const y = x.single() ? clamped(x, -20, 89) : clamped(x, -40, 710);
  reduced const d = reduce_exponent(y, exponent_bias(x) - 1);
  num const half = power_of_two(d.biased);
  num const e = mad(half, expm1_core(d.r), half - 0.5) * 2;
  return real(bits(e) | sign(x));  // -0, and no more: both have the sign of x
}
/// 1 / (1 + e^-x), with e^-x = 2^n (1 + s): 1 + 2^n is exact where it matters. Numerator and denominator are both
/// taken times 2^-(n/2), so that neither overflows.
inline num sigmoid(num x) {
  num const y = x.single() ? clamped(-x, -90, 104) : clamped(-x, -710, 746);
  reduced const d = reduce_exponent(y, 2 * exponent_bias(x));
  halves const power = power_in_halves(d.biased);
  num const inverse = real(2 * std::int64_t(exponent_bias(x)) * (std::int64_t(1) << mantissa_bits(x)) - bits(power.lower));
  return 1 / (power.upper + mad(power.upper, expm1_core(d.r), inverse)) * inverse;
}
/// 1 + tanh x = 2 / (1 + e^-2x), as one function: of a sum nothing is left where tanh x is near -1.
///
/// f32: e^-2x = 2^n (1 - t) / (1 + t) with x = w - n ln 2 / 2 and t = tanh w. As there is a division anyway, half a polynomial is
/// enough. With m = 1 + t and h = 2^(n-1) the quotient is m / (m (1/2 - h) + 2 h), in which what m lost by rounding is above and
/// below. All of it times 27/16, since m then lies between two powers of two. From n = 128 on it is 0.
/// f64: with e^-2x = 2^n (1 + s) and h = 2^(n-1), 1 / (h s + (h + 1/2)). What is below the normal numbers is 0.
inline num one_plus_tanh(num x) {
  if (x.single()) {
    num const y = clamped(x, -44.3, 43);
    double const magic = rounding_magic(x) + (exponent_bias(x) - 1);
    num const shifted = mad(y, -2 * 0x1.71547652b82fep+0, magic), n = shifted - magic, half = power_of_two(bits(shifted));
    num const w = mad(n, -0x1.05c61p-30, mad(n, 0x1.62e43p-2, y));  // ln 2 / 2 in two parts
    num const m = mad(w, polynomial(w * w, scaled_tanh_f32), 1.6875);
    return m / mad(m, 0.5 - half, half * 3.375);
  }
  num const t = -(x + x), y = max(literal(x, -707.0), t);
  reduced const d = reduce_exponent(y, exponent_bias(x) - 1);
  num const half = power_of_two(d.biased), below = mad(half, expm1_core(d.r), half + 0.5);
  return blend(709.09 < t, 0, 1 / below);
}
/// 1 - 2 / (e^2|x| + 1) with e^2|x| = 2^n (1 + s), from where the quotient is below 1/4 and its rounding counts for
/// little. Below that f32 has a polynomial, and f64 (2^n - 1 + 2^n s) / (2^n + 1 + 2^n s) with what the three roundings
/// left added, over the denominator, whose inverse is (1 - quotient) / 2.
inline num tanh(num x) {
  num const size = magnitude(x), t = min(literal(x, x.single() ? 9.5 : 19.5), size), small = size < 0.9375;
  reduced const d = reduce_exponent(t * 2, exponent_bias(x));
  num const power = power_of_two(d.biased), s = expm1_core(d.r), more = power + 1;
  num const below = mad(power, s, more);
  if (x.single()) {
    num const z = x * x, near = mad(z * polynomial(z, tanh_f32, 7), x, x);
    return real(bits(blend(small, near, 1 - 2 / below)) | sign(x));
  }
  num const fewer = power - 1, above = mad(power, s, fewer), q = blend(small, above, 2) / below;
  num const above_low = mad(power, s, fewer - above), below_low = mad(power, s, more - below);
  num const left = residual(above, q, below) + less(above_low, q, below_low);
  return real(bits(blend(small, mad(left, (1 - q) * 0.5, q), 1 - q)) | sign(x));
}

}  // namespace detail::math
}  // namespace weft::inline WEFT_ABI
