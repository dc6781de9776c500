// atan and atan2. For math.ipp only.
#pragma once

#include "weft/expr/math/builder.hpp"
#include "weft/expr/math/coefficients.hpp"

namespace weft::inline WEFT_ABI {
namespace detail::math {

/// base + atan(t), |t| <= 1; what precedes the last two sums is small.
inline num atan_from(pair base, num t) {
  num const z = t * t;
  // The terms cancel: what the first ones wait for may be cut into parts.
  double const* const c = t.single() ? atan_f32 : atan_f64;
  num const rest = t.single() ? mad(z, polynomial(z, atan_f32, 3, 3), c[2]) : polynomial(z, atan_f64, 9, 2);
  num const p = mad(z * z, rest, mad(z, c[1], c[0]));
  return base.high + (t + mad(t * z, p, base.low));
}
inline double half_pi(num x) { return x.single() ? 0x1.921fb6p+0 : 0x1.921fb54442d18p+0; }
inline double half_pi_low(num x) { return x.single() ? -0x1.777a5cp-25 : 0x1.1a62633145c07p-54; }
/// The inverse of what is beyond 1 is at most 1, and pi / 2 minus its angle that of the whole.
inline num atan(num x) {
  num const size = magnitude(x), beyond = 1 < size;
  pair const base{blend(beyond, literal(x, half_pi(x)), 0.0), blend(beyond, literal(x, half_pi_low(x)), 0.0)};
  return flipped(atan_from(base, blend(beyond, -1 / size, size)), sign(x));
}
/// The angle of (x, y), by C's Annex F: 0 / 0 counts as 0 and inf / inf as 1; x's sign, that of a zero too, tells the half.
inline num atan2(num y, num x) {
  num const width = magnitude(x), height = magnitude(y), steep = width < height, left = bits(x) < 0;
  num const smaller = blend(steep, width, height);
  num const larger = max(x.single() ? 0x1p-149 : 0x1p-1074, blend(steep, height, width));
  num const t = blend(larger <= smaller, 1, smaller / larger);
  // From pi / 2, right or left; from pi, right; from 0, left.
  auto const from = [&](double half) {
    return blend(steep, literal(x, half), blend(left, literal(x, 2 * half), 0.0));
  };
  num const turned = bits(x) ^ blend(steep, literal(bits(x), std::int64_t(-1)), 0);
  return flipped(atan_from({from(half_pi(x)), from(half_pi_low(x))}, flipped(t, turned & sign_mask(x))), sign(y));
}

}  // namespace detail::math
}  // namespace weft::inline WEFT_ABI
