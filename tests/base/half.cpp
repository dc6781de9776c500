// f16 and bf16 against a reference that rounds by exact arithmetic on doubles, and against the compiler's _Float16.
#include "weft/base/half.hpp"

#include <doctest/doctest.h>

#include "base/reference.hpp"

using weft::bf16, weft::f16;
using namespace weft_test;

namespace {

template <class Half>
void check_rounding(half_format const& f, float x) {
  std::uint32_t const got = Half(x).bits, wanted = nearest(f, x);
  if (got != wanted) FAIL_CHECK("of ", x, " (", weft::to_bits(x), ") is ", got, " and should be ", wanted);
#if defined(__FLT16_MAX__)
  if constexpr (std::is_same_v<Half, f16>)
    if (got != static_cast<std::uint32_t>(weft::to_bits(static_cast<_Float16>(x)))) FAIL_CHECK("not _Float16's of ", x);
#endif
}
template <class Half>
void check_all(half_format const& f) {
  for (std::uint32_t b = 0; b < 65536; ++b) {
    Half const h = weft::from_bits<Half>(b);
    float const x = h;
    std::uint32_t const size = b & 0x7fff;
    if (size > f.infinity()) {
      CHECK(std::isnan(x));
      CHECK(std::signbit(x) == (b >= 0x8000));
      CHECK(Half(x).bits == (b | 1u << (f.mantissa - 1)));  // quiet, the rest of the payload kept
    } else {
      if (size == f.infinity())
        CHECK(x == (b >= 0x8000 ? -HUGE_VALF : HUGE_VALF));
      else
        CHECK(weft::to_bits(static_cast<double>(x)) == weft::to_bits(value_of(f, b)));
      CHECK(Half(x).bits == b);
    }
  }
}
/// Every exponent with mantissas that are random, at ties, beside them, all ones and all zeros.
template <class Half>
void check_roundings(half_format const& f) {
  std::mt19937_64 random(20261121);
  int const cut = 23 - f.mantissa;
  for (std::uint32_t exponent = 0; exponent < 255; ++exponent)
    for (int n = 0; n < 600; ++n) {
      auto m = static_cast<std::uint32_t>(random()) & 0x7fffff;
      int const at = n % 3 == 0 ? cut : static_cast<int>(random() % 24);  // denormals have their ties further left
      std::uint32_t const tail = (2u << at) - 1, tie = 1u << at;
      if (n % 2 == 0) m = (m & ~tail) | ((tie + static_cast<std::uint32_t>(n / 2 % 3) - 1) & tail);
      if (n >= 590) m = n % 2 ? 0x7fffff : 0;
      for (std::uint32_t sign : {0u, 0x80000000u})
        check_rounding<Half>(f, std::bit_cast<float>(sign | exponent << 23 | (m & 0x7fffff)));
    }
  // Half way between each two neighbours, and the floats around it.
  for (std::uint32_t b = 0; b < f.infinity(); ++b) {
    double const next = b + 1 == f.infinity() ? std::ldexp(1.0, f.bias + 1) : value_of(f, b + 1);
    auto const middle = static_cast<float>((value_of(f, b) + next) / 2);
    for (float x : {middle, std::nextafterf(middle, 0.0f), std::nextafterf(middle, HUGE_VALF)})
      if (std::isfinite(x)) check_rounding<Half>(f, x), check_rounding<Half>(f, -x);
  }
}

static_assert(std::is_trivially_copyable_v<f16> && sizeof(f16) == 2 && alignof(f16) == 2);
static_assert(std::is_trivially_copyable_v<bf16> && sizeof(bf16) == 2 && alignof(bf16) == 2);
static_assert(std::is_trivially_default_constructible_v<f16> && !std::is_convertible_v<float, f16>);
static_assert(f16(1.5f) * f16(2.0f) == 3.0f && f16(65520.0f).bits == 0x7c00 && f16(65519.0f).bits == 0x7bff);
static_assert(bf16(1.0f).bits == 0x3f80 && f16(5.9604645e-8f).bits == 1 && f16(2.9802322e-8f).bits == 0);
static_assert(bf16(3.4e38f).bits == 0x7f80 && bf16(3.38e38f).bits == 0x7f7e);
static_assert(f16(-0.0f).bits == 0x8000 && bf16(-0.0f).bits == 0x8000);

}  // namespace

TEST_CASE("every f16 and every bf16 is the number that its bits say, and comes back from f32") {
  check_all<f16>(binary16);
  check_all<bf16>(brain);
}
TEST_CASE("f32 becomes the nearest f16 and bf16, ties the even one, in every binade and at every tie") {
  check_roundings<f16>(binary16);
  check_roundings<bf16>(brain);
}
TEST_CASE("a NaN stays one, quiet, with its sign and the upper payload") {
  for (std::uint32_t payload : {1u, 0x1fffu, 0x2000u, 0x7fffffu, 0x400000u, 0x555555u})
    for (std::uint32_t sign : {0u, 0x80000000u}) {
      std::uint32_t const bits = sign | 0x7f800000 | payload;
      CHECK(weft::detail::f16_bits_of_f32(bits) == (sign >> 16 | 0x7e00 | payload >> 13));
      CHECK((weft::detail::bf16_bits_of_f32(bits) & 0xffff) == (sign >> 16 | 0x7fc0 | payload >> 16));
    }
}
