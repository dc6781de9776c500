// sin, cos and tan over the whole range. For math.ipp only.
//
// x = n pi + r: by subtracting n times pi in parts (Cody and Waite, as in exponential.hpp) where |x| < 2^27, and beyond,
// where hardly anybody goes, by the digits of 1 / pi that matter (M. Payne and R. Hanek, SIGNUM Newsletter 18, 1983),
// which machine code jumps over. f32 is computed in f64, where r is exact enough as one number: that takes as many
// operations as f32 with r in two, since n of whole half turns leaves one polynomial where quarter turns need both.
#pragma once

#include "weft/expr/math/builder.hpp"
#include "weft/expr/math/coefficients.hpp"

namespace weft::inline WEFT_ABI {
namespace detail::math {

inline constexpr double far_away = 0x1p27;

/// What is wanted of an angle: turns of pi (1) or pi / 2 (2), moved by an offset (0 or 1/2) of a turn, and whether
/// f64 is wanted in full or as good as f32 needs.
struct turning {
  int divisor = 1;
  double offset = 0;
  bool full = false;
};
/// x = (turns - offset) turn + r - excess; `odd`: the sign bit, if turns is odd. Without `full`, excess is left out.
struct angle {
  num r, excess, odd;
};
/// Where |x| < far_away.
inline angle near_angle(num x, turning t) {
  double const magic = rounding_magic(x), inverse = 0x1.45f306dc9c883p-2 * t.divisor, turn = 1.0 / t.divisor;
  num const turns = t.offset > 0 ? mad(x, inverse, t.offset) + magic : mad(x, inverse, magic);
  num const n = t.offset > 0 ? (turns - magic) - t.offset : turns - magic;
  double const* part = x.fused ? pi_fused : pi_exact;
  num before = less(x, n, *part++ * turn);  // n times this part, and the difference, are exact
  if (!x.fused) before = less(before, n, *part++ * turn);
  num r = less(before, n, part[0] * turn), excess = r;
  if (t.full) excess = mad(n, part[1] * turn, mad(n, part[0] * turn, r - before));
  else if (!x.fused) r = less(r, n, part[1] * turn);
  return {r, excess, bits(turns) << 63};
}

/// An integer of a size below 2^51, as f64: AVX-512 is the first to convert from i64.
inline num from_integer(num i) { return real(i + (std::int64_t(0x4338) << 48)) - 0x1.8p52; }
inline num unsigned_shift(num x, int by) { return (x >> by) & ((std::int64_t(1) << (64 - by)) - 1); }

/// For a finite x >= far_away. x = m 2^p: m times the bits of 1 / pi of weight 2^-p and below, modulo 2, by digits of
/// 28 bits; 7 digits leave 60 bits where 62 cancel, which is the worst that f64 knows. An f32 has 24 bits in m, and at
/// most 30 cancel.
inline angle far_angle(num x, turning t) {
  constexpr std::int64_t mask = (1 << 28) - 1, one_bit = 1;
  int const count = t.full ? 7 : 4;  // of digits
  num const all = bits(x), m = (all & ((one_bit << 52) - 1)) | one_bit << 52;
  // The words of 1 / pi, from 63 bits before the point (f32: from the point), and the window that begins at `position`.
  num word[20];
  int const known = t.full ? 20 : 4, wanted = t.full ? 4 : 3;
  for (int i = 0; i < known; ++i) {
    std::uint64_t const w = !t.full ? inverse_pi[i] : i > 0 ? inverse_pi[i - 1] : 0;
    word[i] = literal(all, static_cast<std::int64_t>(w));
  }
  num const position = (all >> 52) - (t.full ? 1075 - 63 : 1075 - 28);
  for (int step = t.full ? 16 : 1; step > 0; step /= 2) {
    num const on = (position & (64 * step)) == 64 * step;
    for (int i = 0; i < wanted + step - 1 && i + step < known; ++i) word[i] = blend(on, word[i + step], word[i]);
  }
  num window[3];
  for (int i = 0; i + 1 < wanted; ++i)
    window[i] = (word[i] << (position & 63)) | (unsigned_shift(word[i + 1], 1) >> (63 - (position & 63)));
  // m (in one digit or two) times the window's digits, from the lowest on.
  num const low = t.full ? m & mask : unsigned_shift(m, 29), high = unsigned_shift(m, 28);
  num digit[7], before = low, carry = low;
  for (int k = 0; k < count; ++k) {
    int const begin = 28 * (count - 1 - k), at = begin / 64, offset = begin % 64;
    num d = offset <= 36 ? window[at] >> (36 - offset) : window[at] << (offset - 36);
    if (offset > 36 && at + 2 < wanted) d = d | unsigned_shift(window[at + 1], 100 - offset);
    d = d & mask;
    num column = low * d;
    if (k > 0) column = column + carry;
    if (k > 0 && t.full) column = column + high * before;
    before = d, carry = unsigned_shift(column, 28), digit[k] = column & mask;
  }
  // The highest digit: a bit that counts turns modulo 2, and what follows it; rounded to the nearest turn.
  int const b = t.divisor == 1 ? 27 : 26;
  num const top = digit[count - 1] + (t.offset > 0 ? one_bit << b : one_bit << (b - 1));
  num const odd = (top << (63 - b)) & INT64_MIN;
  double scale = b == 27 ? 0x1p-27 : 0x1p-26;
  num const first = from_integer((top & ((one_bit << b) - 1)) - (one_bit << (b - 1))) * scale;
  auto const next = [&](int k) { return from_integer(digit[k]) * (scale *= 0x1p-28); };
  pair f = fast_sum(first, next(count - 2));
  f = fast_sum(f.high, f.low + next(count - 3));
  double const turn = 1.0 / t.divisor;
  if (!t.full) return {f.high * (pi_fused[0] * turn), f.low, odd};
  num const more = next(count - 4);
  f = fast_sum(f.high, f.low + (more + next(count - 5)));
  pair const r = exact_product(f.high, literal(x, pi_fused[0] * turn));
  num const rest = mad(f.high, pi_fused[1] * turn, mad(f.low, pi_fused[0] * turn, r.low));
  pair const sum = fast_sum(r.high, rest);
  return {sum.high, -sum.low, odd};
}

/// `f` of the angle of x. The size of x decides, in the type that it came in: in f32 that takes half as long.
template <class F>
num of_angle(num x, turning t, bool is_even, F const& f) {
  num const size = magnitude(x), big = cast(size, dtype::f64), minus = sign(big.id == size.id ? x : cast(x, dtype::f64));
  num const there = blend(big < infinity(), f(far_angle(big, t)), not_a_number());
  num const r = rare(far_away <= size, there, f(near_angle(big, t)));
  return cast(is_even ? r : flipped(r, minus), x.type);
}
inline num sin(num x, double offset = 0) {
  turning const t{1, offset, !x.single()};
  return of_angle(x, t, offset > 0, [&](angle const& a) {
    num const z = a.r * a.r;
    num const s = t.full ? less(a.r, a.r * z, halved(z, sin_f64)) : a.r * less(1, z, horner(z, sin_f32));
    return flipped(s, a.odd);
  });
}
inline num cos(num x) { return sin(x, 0.5); }
/// sin / cos of r, or, an odd number of quarter turns on, -cos / sin.
inline num tan(num x) {
  turning const t{2, 0, !x.single()};
  return of_angle(x, t, false, [&](angle const& a) {
    num const z = a.r * a.r;
    num const s = t.full ? a.r - mad(a.r * z, halved(z, quarter_sin_f64), a.excess)
                         : a.r * less(1, z, horner(z, quarter_sin_f32));
    num const c = t.full ? 1 - less(z * halved(z, quarter_cos_f64), a.r, a.excess)
                         : less(1, z, horner(z, quarter_cos_f32));
    num const odd = a.odd < 0;
    return flipped(blend(odd, c, s) / blend(odd, s, c), a.odd);
  });
}

}  // namespace detail::math
}  // namespace weft::inline WEFT_ABI
