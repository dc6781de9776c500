// What the operations compute, type by type.
#include "weft/base/op.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <type_traits>

#include "base/reference.hpp"

using namespace weft;
using namespace weft_test;

namespace {

__extension__ using wide = __int128;
__extension__ using unsigned_wide = unsigned __int128;
constexpr std::int64_t cast(dtype from, dtype to, std::int64_t bits) { return apply(op::cast, from, bits, 0, 0, to); }

// Constant expressions too, NaN and all.
static_assert(cast(dtype::f32, dtype::u8, to_bits(255.9f)) == 255 && cast(dtype::f32, dtype::u8, to_bits(-0.9f)) == 0);
static_assert(cast(dtype::f32, dtype::i8, to_bits(-200.0f)) == -128);
static_assert(cast(dtype::f64, dtype::u64, to_bits(0x1.fffffffffffffp63)) == -2048);
static_assert(cast(dtype::f64, dtype::u64, to_bits(1e300)) == -1 &&
              cast(dtype::f64, dtype::i64, to_bits(-1e300)) == INT64_MIN);
static_assert(cast(dtype::u64, dtype::f32, -1) == to_bits(0x1p64f) && cast(dtype::i32, dtype::u16, -1) == 65535);
static_assert(cast(dtype::f64, dtype::f16, to_bits(1.0 + 0x1p-11 + 0x1p-40)) == 0x3c00);  // twice rounded
static_assert(cast(dtype::i64, dtype::f16, 70000) == 0x7c00 && cast(dtype::f16, dtype::u8, 0x7c00) == 255);
static_assert(cast(dtype::bf16, dtype::f16, 0x3f80) == 0x3c00 && cast(dtype::f16, dtype::boolean, 0x8000) == 0);
static_assert(cast(dtype::f32, dtype::i32, 0x7fc00000) == 0 && cast(dtype::f32, dtype::boolean, 0x7fc00000) == 1);

}  // namespace

TEST_CASE("every pair of types converts as exact arithmetic says") {
  for (int f = 0; f < dtype_count; ++f)
    for (int t = 0; t < dtype_count; ++t) {
      auto const from = static_cast<dtype>(f), to = static_cast<dtype>(t);
      for (std::int64_t bits : many_elements(from, 3000)) {
        std::int64_t const got = cast(from, to, bits), wanted = reference_cast(from, to, bits);
        if (got != wanted && !(is_nan(to, got) && is_nan(to, wanted)))
          FAIL_CHECK(cast_text(from, to, bits), " is ", got, ", not ", wanted);
        if (!is_element(to, got)) FAIL_CHECK(cast_text(from, to, bits), " is no element: ", got);
      }
    }
}
TEST_CASE("a NaN keeps its sign, and its payload as far as it goes, on every way between floats") {
  for (dtype from : {dtype::f16, dtype::bf16, dtype::f32, dtype::f64})
    for (dtype to : {dtype::f16, dtype::bf16, dtype::f32, dtype::f64}) {
      if (from == to) continue;
      std::int64_t const quiet = infinity_bits(from) | infinity_bits(from) >> 1;
      std::int64_t const result = infinity_bits(to) | infinity_bits(to) >> 1;
      CHECK(cast(from, to, quiet) == result);
      CHECK(cast(from, to, quiet | sign_bit(from)) == (result | sign_bit(to)));
    }
}
TEST_CASE("integers of every width wrap, divide and shift as their C++ types do") {
  for (int n = 0; n < dtype_count; ++n) {
    auto const t = static_cast<dtype>(n);
    if (!is_integer(t)) continue;
    sequence<std::int64_t> values;
    for (std::int64_t x : {0, 1, 2, 3, 7, 31, 63, 127, 128, 200, 255, 32767, 32768, 65535})
      values.push_back(wrapped(t, x)), values.push_back(wrapped(t, -x));
    for (std::int64_t x : {INT64_MIN, INT64_MAX, INT64_MAX / 3, std::int64_t(INT32_MIN), std::int64_t(UINT32_MAX)})
      values.push_back(wrapped(t, x));
    with_dtype(t, [&]<class T>(T) {
      if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
        using U = std::make_unsigned_t<T>;
        auto const check = [&](op o, T a, T b, wide wanted) {
          std::int64_t const got = apply(o, t, to_bits(a), to_bits(b));
          if (got != to_bits(static_cast<T>(wanted)))
            FAIL_CHECK(name(o), " of ", name(t), " ", to_bits(a), ", ", to_bits(b), " is ", got);
        };
        for (std::int64_t x : values)
          for (std::int64_t y : values) {
            T const a = from_bits<T>(x), b = from_bits<T>(y);
            wide const p = a, q = b;
            int const amount = static_cast<int>(static_cast<U>(b) % (8 * sizeof(T)));
            check(op::add, a, b, p + q);
            check(op::sub, a, b, p - q);
            wide const product = static_cast<wide>(static_cast<unsigned_wide>(p) * static_cast<unsigned_wide>(q));
            check(op::mul, a, b, product);
            check(op::neg, a, 0, -p);
            check(op::fma, a, b, product);
            check(op::min, a, b, p < q ? p : q);
            check(op::max, a, b, p > q ? p : q);
            check(op::shl, a, b, p * (wide(1) << amount));
            wide const power = wide(1) << amount;
            check(op::shr, a, b, p >= 0 ? p / power : -((-p + power - 1) / power));
            wide const quotient = q == 0 ? 0 : p / q, rest = q == 0 ? 0 : p % q;
            bool const down = rest != 0 && (rest < 0) != (q < 0);
            check(op::div, a, b, quotient);
            check(op::rem, a, b, rest);
            check(op::floor_div, a, b, quotient - down);
            check(op::floor_mod, a, b, down ? rest + q : rest);
            check(op::bit_and, a, b, p & q);
            check(op::bit_or, a, b, p | q);
            check(op::bit_xor, a, b, p ^ q);
            CHECK(apply(op::lt, t, x, y) == (a < b));
            CHECK(apply(op::le, t, x, y) == (a <= b));
            CHECK(apply(op::eq, t, x, y) == (x == y));
            CHECK(apply(op::ne, t, x, y) == (x != y));
          }
      }
    });
  }
}
TEST_CASE("a bitcast keeps the bits that there are") {
  CHECK(apply(op::bitcast, dtype::u16, 0xffff, 0, 0, dtype::i16) == -1);
  CHECK(apply(op::bitcast, dtype::i8, -2, 0, 0, dtype::u8) == 254);
  CHECK(apply(op::bitcast, dtype::f16, 0x8000, 0, 0, dtype::i16) == -32768);
  CHECK(apply(op::bitcast, dtype::i32, -1, 0, 0, dtype::u32) == 0xffffffff);
  CHECK(apply(op::bitcast, dtype::i32, INT32_MIN, 0, 0, dtype::f32) == to_bits(-0.0f));
  CHECK(apply(op::bitcast, dtype::f64, to_bits(-0.0), 0, 0, dtype::u64) == INT64_MIN);
}
TEST_CASE("scaleb is a product with a power of two that is rounded once, to denormals and to infinity") {
  auto const single = [](float a, float b) {
    return weft::from_bits<float>(apply(op::scaleb, dtype::f32, to_bits(a), to_bits(b)));
  };
  auto const wide = [](double a, double b) {
    return weft::from_bits<double>(apply(op::scaleb, dtype::f64, to_bits(a), to_bits(b)));
  };
  for (int n = -160; n <= 140; ++n)
    for (float const a : {1.0f, 0.75f, 1.4142135f, -1.3333333f}) {
      CAPTURE(n);
      CHECK(single(a, static_cast<float>(n)) == std::ldexp(a, n));
    }
  for (int n = -1100; n <= 1030; ++n) CHECK(wide(1.3333333333333333, n) == std::ldexp(1.3333333333333333, n));
  CHECK(std::isnan(single(std::nanf(""), std::nanf(""))));
}
