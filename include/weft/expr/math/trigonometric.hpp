// sin, cos and tan over the whole range. For math.ipp only.
//
// x = n pi / 2 + r, |r| <= pi / 4: by subtracting n times pi / 2 in parts (Cody and Waite, as in exponential.hpp) where x
// is not large, and beyond, where hardly anybody goes, by the digits of 1 / pi that matter (M. Payne and R. Hanek,
// SIGNUM Newsletter 18, 1983), which machine code jumps over. Half turns would need no cosine, but where a sine is near 1
// it would be two units off, and cos 0 not be 1. f32 without fma is computed in f64.
#pragma once

#include "weft/expr/math/builder.hpp"
#include "weft/expr/math/coefficients.hpp"

namespace weft::inline WEFT_ABI {
namespace detail::math {

/// How an angle is wanted: for f32 in f32, for f32 in f64, where r needs no second part, or for f64.
enum class precision : unsigned char { narrow, wide, full };

/// x = n pi / 2 + r - excess; the low bits of `turns` are those of n, or n + 1 where a cosine is wanted: cos x = sin(x + pi / 2).
struct angle {
  num r, excess, turns;
};
/// Where |x| < far_away.
inline double far_away(precision p) { return p == precision::full ? 0x1p25 : 0x1p16; }
inline angle near_angle(num x, precision p, int offset) {
  double const magic = rounding_magic(x) + offset;
  num const turns = mad(x, 0x1.45f306dc9c883p-1, magic), n = turns - magic;
  double const* part = x.single() ? half_pi_f32 : x.fused ? half_pi_f64 : half_pi_exact;
  num before = less(x, n, *part++);  // n times this part, and the difference, are exact
  if (!x.fused) before = less(before, n, *part++);
  if (p == precision::wide) return {less(before, n, part[0]), before, bits(turns)};
  // What rounding leaves of the next difference is exact too: its operands are of like size, or it needs no rounding.
  num const r = before - n * part[0];
  return {r, mad(n, part[1], mad(n, part[0], r - before)), bits(turns)};
}

/// An integer of a size below 2^51, as f64: AVX-512 is the first to convert from i64.
inline num from_integer(num i) { return real(i + (std::int64_t(0x4338) << 48)) - 0x1.8p52; }
inline num unsigned_shift(num x, int by) { return (x >> by) & static_cast<std::int64_t>(~std::uint64_t(0) >> by); }

/// For a finite f64 x >= far_away. x = m 2^p: m times the bits of 1 / pi of weight 2^-p and below, modulo 2, by digits of
/// 28 bits; 7 digits leave 60 bits where 62 cancel, which is the worst that f64 knows. An f32 has 24 bits in m, and at
/// most 30 cancel: 4 digits.
inline angle far_angle(num x, precision p, int added) {
  constexpr std::int64_t mask = (1 << 28) - 1, one_bit = 1;
  bool const full = p == precision::full;
  int const count = full ? 7 : 4;
  num const all = bits(x), m = (all & ((one_bit << 52) - 1)) | one_bit << 52;
  // The words of 1 / pi, from 63 bits before the point, and the window that begins at `position`.
  num word[20];
  int const known = full ? 20 : 5, wanted = full ? 4 : 3;
  for (int i = 0; i < known; ++i) word[i] = literal(all, i > 0 ? static_cast<std::int64_t>(inverse_pi[i - 1]) : 0);
  num const position = (all >> 52) - (full ? 1075 - 63 : 1075 - 63 - 29);
  for (int step = full ? 16 : 2; step > 0; step /= 2) {
    num const on = (position & (64 * step)) == 64 * step;
    for (int i = 0; i < wanted + step - 1 && i + step < known; ++i) word[i] = blend(on, word[i + step], word[i]);
  }
  num window[3];
  for (int i = 0; i + 1 < wanted; ++i)
    window[i] = (word[i] << (position & 63)) | (unsigned_shift(word[i + 1], 1) >> (63 - (position & 63)));
  // m (in one digit or two) times the window's digits, from the lowest on.
  num const low = full ? m & mask : unsigned_shift(m, 29), high = unsigned_shift(m, 28);
  num digit[7], before = low, carry = low;
  for (int k = 0; k < count; ++k) {
    int const begin = 28 * (count - 1 - k), at = begin / 64, offset = begin % 64;
    num d = offset <= 36 ? window[at] >> (36 - offset) : window[at] << (offset - 36);
    if (offset > 36 && at + 2 < wanted) d = d | unsigned_shift(window[at + 1], 100 - offset);
    d = d & mask;
    num column = low * d;
    if (k > 0) column = column + carry;
    if (k > 0 && full) column = column + high * before;
    before = d, carry = unsigned_shift(column, 28), digit[k] = column & mask;
  }
  // The highest digit: two bits that count quarter turns, and what follows; rounded to the nearest.
  num const top = digit[count - 1] + (one_bit << 25);
  double scale = 0x1p-26;
  auto const next = [&](int k) { return from_integer(digit[k]) * (scale *= 0x1p-28); };
  num const first = from_integer((top & ((one_bit << 26) - 1)) - (one_bit << 25)) * scale;  // before scale changes
  pair f = fast_sum(first, next(count - 2));
  f = fast_sum(f.high, f.low + next(count - 3));
  num const turns = unsigned_shift(top, 26) + added;
  if (!full) return {f.high * half_pi_f64[0], f.low, turns};
  num const more = next(count - 4);
  f = fast_sum(f.high, f.low + (more + next(count - 5)));
  pair const r = exact_product(f.high, literal(x, half_pi_f64[0]));
  num const rest = mad(f.high, half_pi_f64[1], mad(f.low, half_pi_f64[0], r.low));
  pair const sum = fast_sum(r.high, rest);
  return {sum.high, -sum.low, turns};
}

/// sin or cos of an angle: sin r = r - (r z p(z) + excess), z = r^2. n odd: cos for sin, -sin for cos, where cos r =
/// 1 - 2 sin(r / 2)^2: one polynomial for all lanes. With one of its own for cos r both would be computed in each lane.
inline num of_angle(angle const& a, precision p) {
  num const odd = two(op::ne, a.turns & 1, 0), r = blend(odd, a.r * 0.5, a.r), z = r * r;
  num s = z;
  if (p == precision::wide) {
    s = r * less(1, z, polynomial(z, sin_wide_f32));
  } else {
    // The polynomial need not wait for excess: it counts only in the last step. The order of terms keeps -0.
    num const excess = blend(odd, a.excess * 0.5, a.excess);
    s = r - mad(r * z, p == precision::narrow ? polynomial(z, sin_f32) : polynomial(z, sin_f64, 6), excess);
  }
  return flipped(blend(odd, less(1, s, s + s), s), (a.turns << (z.single() ? 30 : 62)) & sign_mask(z));
}
/// tan r = (r - r z p(z)) / (1 - z q(z)), z = r^2; n odd: -1 / tan r. Of excess the divisor can do without its share.
inline num tangent(angle const& a, precision p) {
  num const z = a.r * a.r, odd = a.turns << (z.single() ? 31 : 63);
  auto const of = [&](auto const& narrow, auto const& wide, auto const& full) {
    return p == precision::narrow ? polynomial(z, narrow)
           : p == precision::wide ? polynomial(z, wide)
                                  : polynomial(z, full);
  };
  num const excess = p == precision::wide ? literal(z, 0.0) : a.excess;  // +0 for -0, which so stays -0
  num const above = a.r - mad(a.r * z, of(tan_above_f32, tan_above_wide_f32, tan_above_f64), excess);
  num const below = less(1, z, of(tan_below_f32, tan_below_wide_f32, tan_below_f64));
  return flipped(blend(odd < 0, below, above) / blend(odd < 0, above, below), odd);
}
inline num trigonometric(op o, num x) {
  bool const single = x.single();
  int const offset = o == op::cos ? 1 : 0;
  precision const p = !single ? precision::full : x.fused ? precision::narrow : precision::wide;
  num const size = magnitude(x), big = cast(size, dtype::f64);
  precision const there = single ? precision::wide : precision::full;
  auto const at = [&](angle const& a, precision exact) {
    return o == op::tan ? tangent(a, exact) : of_angle(a, exact);
  };
  num far = cast(at(far_angle(big, there, offset), there), x.type);
  if (o != op::cos) far = flipped(far, sign(x));
  num const near = at(near_angle(p == precision::wide ? cast(x, dtype::f64) : x, p, offset), p);
  return rare(bits(literal(x, far_away(p))) <= bits(size), blend(size < infinity(), far, not_a_number()), cast(near, x.type));
}

}  // namespace detail::math
}  // namespace weft::inline WEFT_ABI
