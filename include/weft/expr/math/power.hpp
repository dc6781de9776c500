// pow. For math.ipp only.
//
// x^y = 2^(y log2 x). f64 needs log2 x to 2^-65, so in two numbers; f32 is computed in f64, where one is enough.
#pragma once

#include "weft/expr/math/exponential.hpp"
#include "weft/expr/math/logarithm.hpp"

namespace weft::inline WEFT_ABI {
namespace detail::math {

/// log2 of a positive number, f64, by s = f / (2 + f), as in logarithm.hpp.
inline num short_log2(num x) {
  exponent_parts const e = exponent_of(x);
  num const f = real(bits(x) - e.shifted) - 1, s = f / (f + 2);
  return mad(s, polynomial(s * s, log2_f32), e.k);
}
struct scaled_argument {
  num x, k;  // the argument is x * 2^k
};
/// A denormal becomes normal.
inline scaled_argument normalised(num x) {
  num const tiny = x < smallest_normal(x);
  return {blend(tiny, x * 0x1p54, x), blend(tiny, literal(x, -54.0), 0.0)};
}
/// The same in two numbers. Source of the exact quotient: Dekker, as in builder.hpp.
inline pair long_log2(num x) {
  scaled_argument const a = normalised(x);
  exponent_parts const e = exponent_of(a.x);
  num const f = real(bits(a.x) - e.shifted) - 1, divisor = f + 2, divisor_low = f - (divisor - 2);
  num const inverse = 1 / divisor, s = f * inverse;
  num const s_low = less(residual(f, s, divisor), s, divisor_low) * inverse;
  pair const square = exact_product(s, s);
  num const square_low = mad(s * 2, s_low, square.low);
  // 2 / log 2 + z (2 / 3 / log 2 + z p(z))
  pair inner = fast_sum(literal(x, log2_second[0]), square.high * polynomial(square.high, log2_f64));
  inner.low = inner.low + log2_second[1];
  pair const grown = exact_product(square.high, inner.high);
  num const grown_low = mad(square.high, inner.low, mad(square_low, inner.high, grown.low));
  pair outer = fast_sum(literal(x, log2_first[0]), grown.high);
  outer.low = outer.low + (grown_low + log2_first[1]);
  pair const l = exact_product(s, outer.high);
  num const l_low = mad(s, outer.low, mad(s_low, outer.high, l.low));
  pair const sum = fast_sum(e.k + a.k, l.high);
  return fast_sum(sum.high, sum.low + l_low);
}
/// 2^(e + low), for any e and a small low.
inline num exp2_of_sum(num e, num low) {
  double const magic = rounding_magic(e) + 2 * exponent_bias(e);
  num const n = (e + magic) - magic, r = (e - n) + low;
  return scaled(mad(r, polynomial(r, exp2_f64), 1), n);
}

/// What pow makes of |x|, x and y where they are not plain: C's Annex F.
inline num pow_edges(num plain, num x, num y, num size) {
  num const steps = magnitude(y), whole = one(op::trunc, y) == y;
  num const half = y * 0.5, odd = both(whole, !(one(op::trunc, half) == half));
  num const vanishing = (size < 1) == (y < 0);  // grows without bound: size below 1 and y below 0, or neither
  num const extreme = either(either(size == 0, size == infinity()), steps == infinity());
  num r = blend(extreme, blend(vanishing, literal(x, infinity()), 0), plain);
  r = flipped(r, sign(x) & blend(odd, literal(bits(x), std::int64_t(-1)), 0));
  num const no_root = both(both(x < 0, !whole), !extreme);
  r = blend(either(no_root, either(!(x == x), !(y == y))), not_a_number(), r);
  num const one_anyway = either(either(x == 1, y == 0), both(size == 1, steps == infinity()));
  return blend(one_anyway, 1, r);
}
inline num pow(num x, num y) {
  num const size = magnitude(x);
  num plain = size;
  if (x.single()) {
    num const e = cast(y, dtype::f64) * short_log2(cast(size, dtype::f64));
    num const near = clamped(e, -160, 160), shifted = near + rounding_magic(near) + exponent_bias(near);
    num const r = near - ((shifted - rounding_magic(near)) - exponent_bias(near));
    plain = cast(mad(r, polynomial(r, exp2_wide_f32), 1) * power_of_two(bits(shifted)), dtype::f32);
  } else {
    // Beyond 2^900 only x = 1 does not overflow; halves of y would.
    num const times = y.fused ? y : clamped(y, -0x1p900, 0x1p900);
    pair const l = long_log2(size), e = exact_product(times, l.high);
    num const near = clamped(e.high, -1100, 1100), low = mad(times, l.low, e.low);
    plain = exp2_of_sum(near, blend(near == e.high, low, 0));
  }
  // Positive, finite x and finite y are plain, whatever comes out; a NaN is not.
  num const usual = both(both(0 < x, x < infinity()), magnitude(y) < infinity());
  return rare(!usual, pow_edges(plain, x, y, size), plain);
}

}  // namespace detail::math
}  // namespace weft::inline WEFT_ABI
