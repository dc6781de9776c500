// erf and gelu. For math.ipp only.
#pragma once

#include "weft/expr/math/exponential.hpp"

namespace weft::inline WEFT_ABI {
namespace detail::math {

/// Near 0 a polynomial; further out 1 - e^Q(|x|), where Q, a polynomial too, is log erfc.
/// Source: N. Juffa, "Efficiently computing the error function in single precision", stackoverflow.com/a/35148199
inline num erf(num x) {
  num const size = magnitude(x), z = x * x;
  num const near = mad(x.single() ? polynomial(z, erf_f32, 7) : polynomial(z, erf_f64), x, x);
  num const t = min(literal(x, x.single() ? 4.0 : 6.0), size);
  num const q = mad(x.single() ? polynomial(t, erfc_f32) : polynomial(t, erfc_f64), -t, -t);
  reduced const d = reduce_exponent(q, exponent_bias(x));
  // 1 - 2^n (1 + s): 1 - 2^n is exact.
  num const power = power_of_two(d.biased), far = less(1 - power, power, expm1_core(d.r));
  return blend(size < (x.single() ? 0.9375 : 1.0), near, real(bits(far) | sign(x)));
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
  num const product = scaled(p * (share * t), d.biased);
  return blend(0 <= x, x - product, -product);
}

}  // namespace detail::math
}  // namespace weft::inline WEFT_ABI
