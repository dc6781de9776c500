// erf and gelu. For math.ipp only.
#pragma once

#include "weft/expr/math/exponential.hpp"

namespace weft::inline WEFT_ABI {
namespace detail::math {

/// Near 0 a polynomial; further out 1 - erfc t, whose root of the order 4 or 8 is a polynomial too, b + v, v = u p(u),
/// u = t - a, of hardly more terms than log erfc and without the exponential. The power multiplies what the root was
/// rounded by, so its square is made of b^2 and v, which is small where erfc t is not.
inline num erf(num x) {
  bool const single = x.single();
  double const* const start = single ? erfc_start_f32 : erfc_start_f64;
  num const size = magnitude(x), z = x * x;
  num const near = mad(single ? polynomial(z, erf_f32, 7) : polynomial(z, erf_f64, 7), x, x);
  num const u = min(literal(x, single ? 2.95 : 4.95), size - start[0]);
  num const v = u * (single ? polynomial(u, erfc_f32) : polynomial(u, erfc_f64));
  num power = mad(v, v + 2 * start[1], start[2]);
  if (!single) power = power * power;
  return blend(size < 1, near, real(bits(less(1, power, power)) | sign(x)));
}

/// x times the share of a normal distribution below x. With t = |x|, e^(-t^2 / 2) and a polynomial in
/// y = (t - k) / (t + k), which is smooth to the end, make Phi(-t); nothing cancels for negative x.
inline num gelu(num x) {
  double const pole = x.single() ? 4 : 5;
  num const t = min(literal(x, x.single() ? 15.0 : 39.0), magnitude(x));
  // The polynomial is steep near t = 0: y must be right in its last place, so what it leaves of the division is added.
  num const w = 1 / (t + pole), about = mad(w, -2 * pole, 1);
  num const y = mad(residual(less(t, about + 1, pole), t, about), w, about);
  num const share = (x.single() ? polynomial(y, gelu_f32, 12) : polynomial(y, gelu_f64, 12)) * w;
  pair const square = exact_product(t, t * -0.5);
  reduced const d = reduce_exponent(square.high, 2 * exponent_bias(x));
  num const r = d.r + square.low;
  num const p = mad(r, mad(r, exp_polynomial(r), 1), 1);
  num const product = scaled(p * (share * t), d.n);
  return blend(0 <= x, x - product, -product);
}

}  // namespace detail::math
}  // namespace weft::inline WEFT_ABI
