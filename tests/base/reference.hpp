// Conversions between element types by another way than base/op.hpp's: exact arithmetic and a search.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>

#include "weft/base/op.hpp"
#include "weft/base/sequence.hpp"

namespace weft_test {

using weft::dtype;

/// Of a 16-bit float.
struct half_format {
  int mantissa, bias;
  int exponent_bits() const { return 15 - mantissa; }
  std::uint32_t infinity() const { return ((1u << exponent_bits()) - 1) << mantissa; }
};
inline constexpr half_format binary16{10, 15}, brain{7, 127};

/// What the bits of a finite number say, by the definition.
inline double value_of(half_format const& f, std::uint32_t bits) {
  int const exponent = static_cast<int>(bits >> f.mantissa & ((1u << f.exponent_bits()) - 1));
  double const fraction = static_cast<double>(bits & ((1u << f.mantissa) - 1));
  double const size = exponent == 0
                          ? std::ldexp(fraction, 1 - f.bias - f.mantissa)
                          : std::ldexp(fraction + std::ldexp(1.0, f.mantissa), exponent - f.bias - f.mantissa);
  return bits & 0x8000 ? -size : size;
}
/// The nearest of the format, ties to the even one: bits as integers are in the order of the values.
inline std::uint32_t nearest(half_format const& f, float number) {
  auto const x = static_cast<double>(number);
  std::uint32_t const sign = std::signbit(x) ? 0x8000 : 0;
  double const size = std::fabs(x);
  std::uint32_t low = 0, high = f.infinity();  // value(low) <= size < value(high), infinity as if the range went on
  auto const value = [&](std::uint32_t b) { return b == f.infinity() ? std::ldexp(1.0, f.bias + 1) : value_of(f, b); };
  if (size >= value(high)) return sign | high;
  while (high - low > 1) {
    std::uint32_t const middle = (low + high) / 2;
    (value(middle) <= size ? low : high) = middle;
  }
  double const below = size - value(low), above = value(high) - size;  // exact: all are multiples of f32's spacing
  bool const up = above < below || (above == below && low % 2 == 1);
  return sign | (up ? high : low);
}

/// Whether `bits` are a NaN of `t`.
inline bool is_nan(dtype t, std::int64_t bits) {
  return weft::is_float(t) && (bits & ~weft::sign_bit(t)) > weft::infinity_bits(t);
}
inline float half_value(dtype t, std::int64_t bits) {
  half_format const& f = t == dtype::f16 ? binary16 : brain;
  auto const word = static_cast<std::uint32_t>(bits);
  if ((word & 0x7fff) == f.infinity()) return word & 0x8000 ? -HUGE_VALF : HUGE_VALF;
  return static_cast<float>(value_of(f, word));
}
/// What a cast gives; of a NaN to a float, any NaN.
inline std::int64_t reference_cast(dtype from, dtype to, std::int64_t bits) {
  using weft::to_bits;
  if (from == to) return bits;
  if (is_nan(from, bits)) return weft::is_float(to) ? weft::infinity_bits(to) | 1 : to == dtype::boolean;
  // x87's long double holds every number of every type; what it is converted to is rounded once, by other instructions
  // than those of float and double.
  long double x = static_cast<long double>(bits);
  if (from == dtype::u64) x = static_cast<long double>(static_cast<std::uint64_t>(bits));
  if (from == dtype::f64) x = static_cast<long double>(weft::from_bits<double>(bits));
  if (from == dtype::f32) x = static_cast<long double>(weft::from_bits<float>(bits));
  if (weft::is_half(from)) x = static_cast<long double>(half_value(from, bits));
  if (to == dtype::boolean) return x != 0;
  if (to == dtype::f64) return to_bits(static_cast<double>(x));
  if (to == dtype::f32) return to_bits(static_cast<float>(x));
  if (weft::is_half(to)) return nearest(to == dtype::f16 ? binary16 : brain, static_cast<float>(x));
  return weft::with_dtype(to, [&]<class To>(To) -> std::int64_t {
    if constexpr (std::is_integral_v<To>) {
      if (!weft::is_float(from)) return to_bits(static_cast<To>(static_cast<std::uint64_t>(bits)));
      long double const whole = std::trunc(x);
      if (whole <= static_cast<long double>(std::numeric_limits<To>::min()))
        return to_bits(std::numeric_limits<To>::min());
      if (whole >= static_cast<long double>(std::numeric_limits<To>::max()))
        return to_bits(std::numeric_limits<To>::max());
      return to_bits(static_cast<To>(whole));
    }
    return 0;
  });
}

/// All elements of a type of at most 16 bits; of others those at which definitions differ, and random ones of all
/// sizes.
inline weft::sequence<std::int64_t> many_elements(dtype t, int random_ones, std::uint64_t seed = 1) {
  weft::sequence<std::int64_t> all;
  auto const add = [&](std::int64_t bits) { all.push_back(t == dtype::boolean ? bits & 1 : weft::wrapped(t, bits)); };
  if (t == dtype::boolean) return {0, 1};
  if (weft::size_bytes(t) <= 2) {
    for (std::int64_t b = 0; b < std::int64_t(1) << (8 * weft::size_bytes(t)); ++b) add(b);
    return all;
  }
  std::mt19937_64 random(seed);
  // Powers of two, their neighbours, and ties of each precision; as floats, and as integers.
  for (int power = -152; power < 129; ++power)
    for (double part : {1.0, 1.5, 1 + 0x1p-8, 1 + 0x1p-9, 1 + 0x3p-9, 1 + 0x1p-11, 1 + 0x3p-11, 1 + 0x1p-24,
                        1 + 0x1p-52, 2 - 0x1p-24, 2 - 0x1p-52, 2 - 0x1p-9, 2 - 0x1p-12})
      for (double sign : {1.0, -1.0}) {
        double const x = sign * std::ldexp(part, power);
        if (t == dtype::f64) add(weft::to_bits(x));
        if (t == dtype::f32) add(weft::to_bits(static_cast<float>(x)));
        if (weft::is_integer(t) && power >= 0 && power < 63) add(static_cast<std::int64_t>(x));
      }
  for (int bit = 0; bit < 64; ++bit)
    for (std::int64_t near = -3; near <= 3; ++near) {
      std::uint64_t const around = (std::uint64_t(1) << bit) + static_cast<std::uint64_t>(near);
      for (auto const x : {static_cast<std::int64_t>(around), static_cast<std::int64_t>(0 - around)})
        add(weft::is_integer(t) ? x : weft::converted(dtype::i64, t, x));
    }
  if (weft::is_float(t))
    for (std::int64_t bits : {std::int64_t(0), weft::infinity_bits(t), weft::infinity_bits(t) | 1,
                              weft::infinity_bits(t) | weft::infinity_bits(t) >> 1, weft::infinity_bits(t) - 1,
                              weft::infinity_bits(t) | 0x155555})
      add(bits), add(bits | weft::sign_bit(t));
  for (int i = 0; i < random_ones; ++i) add(static_cast<std::int64_t>(random()) >> random() % 64);
  for (int i = 0; i < random_ones; ++i) add(static_cast<std::int64_t>(random()));
  return all;
}
inline std::string cast_text(dtype from, dtype to, std::int64_t bits) {
  return "cast<" + std::string(name(to)) + "> of " + std::string(name(from)) + " " + std::to_string(bits);
}

}  // namespace weft_test
