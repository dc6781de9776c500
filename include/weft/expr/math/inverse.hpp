// atan and atan2. For math.ipp only.
#pragma once

#include "weft/expr/math/builder.hpp"
#include "weft/expr/math/coefficients.hpp"

namespace weft::inline WEFT_ABI {
namespace detail::math {

/// atan(t) for 0 <= t <= 1, or, from `base`, what is left of it; base and atan(t) rounded once together.
inline num atan_of_unit(num t, num beyond_one) {
  num const z = t * t;
  // Its terms cancel: what the first two wait for may be cut into parts, they themselves not.
  double const* const c = t.single() ? atan_f32 : atan_f64;
  num const rest = t.single() ? polynomial(z, atan_f32, 4, 2) : polynomial(z, atan_f64, 5, 2);
  num const tail = z * mad(z, mad(z, rest, c[1]), c[0]);
  num const a = mad(tail, t, t);
  double const high = t.single() ? 0x1.921fb6p+0 : 0x1.921fb54442d18p+0;
  double const low = t.single() ? -0x1.777a5cp-25 : 0x1.1a62633145c07p-54;
  return blend(beyond_one, high - (a - low), a);
}
/// The quotient of the smaller by the larger is at most 1, and pi / 2 minus its angle that of its inverse.
inline num atan(num x) {
  num const size = magnitude(x), beyond = 1 < size;
  num const t = blend(beyond, 1 / size, size);
  return flipped(atan_of_unit(t, beyond), sign(x));
}
/// The angle of (x, y), by C's Annex F: 0 / 0 counts as 0 and inf / inf as 1; x's sign, that of a zero too, tells the half.
inline num atan2(num y, num x) {
  num const width = magnitude(x), height = magnitude(y), steep = width < height;
  num const smaller = blend(steep, width, height);
  num const larger = max(x.single() ? 0x1p-149 : 0x1p-1074, blend(steep, height, width));
  num const t = blend(larger <= smaller, 1, smaller / larger);
  num const a = atan_of_unit(t, steep);
  double const high = x.single() ? 0x1.921fb6p+1 : 0x1.921fb54442d18p+1;
  double const low = x.single() ? -0x1.777a5cp-24 : 0x1.1a62633145c07p-53;
  num const whole = blend(bits(x) < 0, high - (a - low), a);
  return flipped(whole, sign(y));
}

}  // namespace detail::math
}  // namespace weft::inline WEFT_ABI
