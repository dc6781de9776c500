// The two 16-bit floats: how their elements stand in memory, and the one definition of what converts them.
#pragma once

#include <bit>
#include <cstdint>

#include "weft/config.hpp"

namespace weft::inline WEFT_ABI {

namespace detail {
// The words that the conversions below are written over: plain numbers here, expressions in pass/legalise.ipp.
constexpr std::uint32_t like(std::uint32_t, std::uint32_t constant) { return constant; }
constexpr std::uint32_t choose(bool condition, std::uint32_t a, std::uint32_t b) { return condition ? a : b; }
/// a + b and a - b of two f32 given by their bits. Infinities and NaN stand in branches that are not taken.
constexpr std::uint32_t float_sum(std::uint32_t a, std::uint32_t b) {
  if (a >= 0x7f800000u) return a;  // a constant evaluation must not make a NaN
  return std::bit_cast<std::uint32_t>(std::bit_cast<float>(a) + std::bit_cast<float>(b));
}
constexpr std::uint32_t float_difference(std::uint32_t a, std::uint32_t b) {
  return std::bit_cast<std::uint32_t>(std::bit_cast<float>(a) - std::bit_cast<float>(b));
}

// Each gives the bits of vcvtph2ps and vcvtps2ph: a NaN keeps its sign and the upper ten bits of its payload and
// becomes quiet. No f32 that matters in between is denormal, so a thread that flushes those gets the same.
// Comparisons are of numbers below 2^31: signed or not makes no difference.

/// The f32 of an f16 in the low half of `h`. Exact. A denormal is a small multiple of the spacing at 2^-14: added to
/// 2^-14 as an integer, taken away as a float.
template <class Word>
constexpr Word f32_bits_of_f16(Word h) {
  Word const size = (h & 0x7fffu) << 13u;  // exponent and mantissa where an f32 has its own
  Word const normal = size + 0x38000000u;  // 127 - 15 more
  Word const denormal = float_difference(size + 0x38800000u, like(h, 0x38800000u));
  Word const special = size | choose(size > like(h, 0x0f800000u), like(h, 0x7fc00000u), like(h, 0x7f800000u));
  return choose(size < like(h, 0x00800000u), denormal, choose(size < like(h, 0x0f800000u), normal, special)) |
         ((h & 0x8000u) << 16u);
}
/// The f16 of an f32, to nearest even. A denormal result is rounded by the addition to 1/2, at whose spacing the
/// smallest f16 stands.
template <class Word>
constexpr Word f16_bits_of_f32(Word x) {
  Word const size = x & 0x7fffffffu, half = like(x, 0x3f000000u);
  Word const normal = (size + 0xc8000fffu + ((size >> 13u) & 1u)) >> 13u;
  Word const denormal = float_sum(size, half) + 0xc1000000u;  // less 1/2
  Word const nan = ((size >> 13u) & 0x3ffu) | 0x7e00u;
  Word const special = choose(size > like(x, 0x7f800000u), nan, like(x, 0x7c00u));
  return choose(size < like(x, 0x38800000u), denormal, choose(size < like(x, 0x47800000u), normal, special)) |
         ((x >> 16u) & 0x8000u);
}
/// The f32 of a bf16 in the low half of `h`: the same bits with 16 zeros behind.
template <class Word>
constexpr Word f32_bits_of_bf16(Word h) {
  return h << 16u;
}
/// The bf16 of an f32, to nearest even, in the low half.
template <class Word>
constexpr Word bf16_bits_of_f32(Word x) {
  Word const rounded = (x + 0x7fffu + ((x >> 16u) & 1u)) >> 16u;
  return choose((x & 0x7fffffffu) > like(x, 0x7f800000u), (x >> 16u) | 0x40u, rounded);
}
}  // namespace detail

/// IEEE 754 binary16: 5 bits of exponent, 10 of mantissa. Storage: it computes as the float that it converts to.
struct f16 {
  std::uint16_t bits;
  f16() = default;
  /// To nearest even; overflow gives infinity, denormals are kept.
  constexpr explicit f16(float x)
      : bits(static_cast<std::uint16_t>(detail::f16_bits_of_f32(std::bit_cast<std::uint32_t>(x)))) {}
  /// Exact, and so without a cast.
  constexpr operator float() const { return std::bit_cast<float>(detail::f32_bits_of_f16(std::uint32_t(bits))); }
};
/// bfloat16: the upper half of an f32. Else as f16.
struct bf16 {
  std::uint16_t bits;
  bf16() = default;
  /// To nearest even; a NaN stays one.
  constexpr explicit bf16(float x)
      : bits(static_cast<std::uint16_t>(detail::bf16_bits_of_f32(std::bit_cast<std::uint32_t>(x)))) {}
  /// Exact, and so without a cast.
  constexpr operator float() const { return std::bit_cast<float>(detail::f32_bits_of_bf16(std::uint32_t(bits))); }
};

}  // namespace weft::inline WEFT_ABI
