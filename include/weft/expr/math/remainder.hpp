// fmod, exact for all operands. For math.ipp only.
#pragma once

#include "weft/expr/math/builder.hpp"

namespace weft::inline WEFT_ABI {
namespace detail::math {

/// x - trunc(x / y) y, which is exact where the quotient has few enough bits: 28 for f32 in f64, 52 with fma, 26 with
/// products of halves. A longer quotient, rare, is taken away in pieces: multiples of y 2^(k step), from the highest on.
/// A piece may be 1 too large, since the division rounds; the last step adds y once when the rest became negative.
inline num fmod(num x, num y) {
  num const a = cast(magnitude(x), dtype::f64), b = cast(magnitude(y), dtype::f64);
  bool const single = x.single();
  int const step = single ? 27 : x.fused ? 51 : 26;
  auto const rest = [&](num r, num q, num d) {
    if (single || x.fused) return less(r, q, d);
    num const head = real(bits(d) & ~((std::int64_t(1) << 27) - 1));
    return (r - q * head) - q * (d - head);
  };
  num const quotient = a / b;
  num const few = rest(a, one(op::trunc, quotient), b);
  num r = a;
  for (int k = (single ? 277 : 2098) / step; k >= 0; --k) {
    num d = b;
    for (int left = k * step; left > 0; left -= 1000) d = d * __builtin_ldexp(1.0, left < 1000 ? left : 1000);
    num const less_d = rest(r, one(op::trunc, r / d), d);
    r = single ? less_d : blend(d <= magnitude(r), less_d, r);
  }
  auto const finished = [&](num left) { return blend(left < 0, left + b, left); };
  num const many = blend(both(a < infinity(), 0 < b), finished(r), not_a_number());
  num const result = rare(__builtin_ldexp(1.0, step) <= quotient, many, blend(a < b, a, finished(few)));
  return flipped(cast(result, x.type), sign(x));
}

}  // namespace detail::math
}  // namespace weft::inline WEFT_ABI
