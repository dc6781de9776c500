// The laws of the dtype table, and the tables that docs/numbers.md shows of it.
#include "weft/base/dtype.hpp"

#include <doctest/doctest.h>

#include <cstdio>

#include "base/reference.hpp"
#include "support/golden.hpp"
#include "weft/expr/compute.hpp"
#include "weft/expr/formula.hpp"

using namespace weft;
using namespace weft_test;

namespace {

sequence<dtype> all_types() {
  sequence<dtype> all;
  for (int t = 0; t < dtype_count; ++t) all.push_back(static_cast<dtype>(t));
  return all;
}
std::string text(dtype t) { return std::string(name(t)); }
bool same(meeting_type a, meeting_type b) { return a.exists == b.exists && (!a.exists || a.type == b.type); }

// C++'s own promotions, where C++ keeps the value.
template <class A, class B>
constexpr bool as_in_cpp() {
  return promote(dtype_of<A>, dtype_of<B>).type == dtype_of<decltype(A() + B())>;
}
static_assert(as_in_cpp<std::int8_t, std::int8_t>() && as_in_cpp<std::uint8_t, std::int16_t>());
static_assert(as_in_cpp<std::uint16_t, std::uint16_t>() && as_in_cpp<std::uint8_t, std::uint32_t>());
static_assert(as_in_cpp<std::uint32_t, std::uint64_t>() && as_in_cpp<std::uint32_t, std::int64_t>());
static_assert(as_in_cpp<std::uint16_t, std::uint64_t>() && as_in_cpp<std::int8_t, std::int64_t>());
static_assert(as_in_cpp<std::int64_t, float>() && as_in_cpp<float, double>() && as_in_cpp<bool, std::int16_t>());
// And where it does not.
static_assert(!as_in_cpp<std::int32_t, std::uint32_t>() && !promote(dtype::u64, dtype::i8).exists);
static_assert(std::is_same_v<element_t<dtype::f16>, f16> && dtype_of<bf16> == dtype::bf16 &&
              size_bytes(dtype::u64) == 8);
static_assert(is_half(dtype::bf16) && !is_half(dtype::f32) && !is_half(dtype::i16) && is_float(dtype::f16));
static_assert(dtype_of<long> == dtype::i64 && dtype_of<long long> == dtype::i64 && dtype_of<decltype(2ULL)> == dtype::u64);
static_assert(std::is_same_v<element_t<dtype_of<long long>>, std::int64_t>);
static_assert(!element<char> && !element<long double> && !element<wchar_t>);
#if defined(__FLT16_MAX__)
static_assert(dtype_of<_Float16> == dtype::f16);
#endif
#if defined(__clang__) && defined(__x86_64__)
static_assert(dtype_of<__bf16> == dtype::bf16);
#endif

}  // namespace

TEST_CASE("two types meet in the same one from either side, and a type with itself in what it computes in") {
  for (dtype a : all_types()) {
    CHECK(same(promote(a, a), {true, computed(a)}));
    CHECK(computed(computed(a)) == computed(a));
    CHECK_FALSE(is_half(computed(a)));
    for (dtype b : all_types()) {
      CHECK(same(promote(a, b), promote(b, a)));
      if (!promote(a, b).exists) continue;
      // What two meet in absorbs each of them.
      CHECK(same(promote(promote(a, b).type, a), promote(a, b)));
    }
  }
}
TEST_CASE("integers and bool meet in a type that holds every value of both; only u64 with a signed one finds none") {
  for (dtype a : all_types())
    for (dtype b : all_types()) {
      if (is_float(a) || is_float(b)) continue;
      meeting_type const m = promote(a, b);
      bool const none = (a == dtype::u64 && is_signed_integer(b)) || (b == dtype::u64 && is_signed_integer(a));
      CHECK(m.exists == !none);
      if (none) continue;
      for (dtype t : {a, b})
        for (std::int64_t x : many_elements(t, 20)) {
          if (converted(m.type, t, converted(t, m.type, x)) != x) FAIL_CHECK(cast_text(t, m.type, x));
          if (m.type != dtype::boolean && t != dtype::u64 && converted(t, m.type, x) != x)  // another number
            FAIL_CHECK(cast_text(t, m.type, x));
        }
    }
}

TEST_CASE("docs/numbers.md shows the types as they are") {
  std::string out =
      "| dtype | C++ | bytes | `-a`, `a + a`, `sum` | `min`, `max`, `select` | of no elements: `max`, `min` |\n";
  out += "|---|---|---|---|---|---|\n";
  constexpr char const* cpp[] = {
#define WEFT_TEST_NAME(id, type, text, kind, computed) #type,
      WEFT_DTYPES(WEFT_TEST_NAME)
#undef WEFT_TEST_NAME
  };
  for (dtype t : all_types()) {
    auto const limit = [&](bool largest) {
      std::int64_t const bits = with_dtype(t, [&]<class T>(T) {
        return largest ? detail::identity_of<op::min, T>() : detail::identity_of<op::max, T>();
      });
      if (is_float(t)) return std::string(bits == infinity_bits(t) ? "inf" : "-inf");
      if (t == dtype::boolean) return std::string(bits ? "true" : "false");
      return t == dtype::u64 ? std::to_string(static_cast<std::uint64_t>(bits)) : std::to_string(bits);
    };
    out += "| " + text(t) + " | `" + cpp[static_cast<int>(t)] + "` | " + std::to_string(size_bytes(t)) + " | " +
           (t == dtype::boolean ? "-" : text(computed(t))) + " | " + text(t) + " | " + limit(false) + ", " +
           limit(true) + " |\n";
  }
  check_section("docs/numbers.md", "types", out);
}
TEST_CASE("docs/numbers.md shows what two types meet in as it is") {
  std::string out = "| |", rule = "|---|";
  for (dtype b : all_types()) out += " " + text(b) + " |", rule += "---|";
  out += "\n" + rule + "\n";
  for (dtype a : all_types()) {
    out += "| **" + text(a) + "** |";
    for (dtype b : all_types()) {
      meeting_type const m = promote(a, b);
      out += " " + (m.exists ? text(m.type) : std::string("-")) + " |";
    }
    out += "\n";
  }
  check_section("docs/numbers.md", "promotion", out);
}
TEST_CASE("docs/numbers.md shows conversions as they are") {
  sequence<dtype> const to{dtype::boolean, dtype::i8,  dtype::u8,   dtype::i32, dtype::u32,
                           dtype::u64,     dtype::f16, dtype::bf16, dtype::f32};
  std::string out = "| from |", rule = "|---|";
  for (dtype t : to) out += " " + text(t) + " |", rule += "---|";
  out += "\n" + rule + "\n";
  auto const row = [&](char const* what, dtype from, std::int64_t bits) {
    out += "| " + text(from) + " " + what + " |";
    for (dtype t : to) {
      std::int64_t const x = converted(from, t, bits);
      char number[40];
      std::snprintf(number, sizeof number, "%.8g", from_bits<double>(converted(t, dtype::f64, x)));
      out += " " + (is_nan(t, x) ? "NaN" : is_float(t) ? std::string(number) : detail::literal_text(t, x)) + " |";
    }
    out += "\n";
  };
  row("0.1", dtype::f64, to_bits(0.1));
  row("3.7", dtype::f64, to_bits(3.7));
  row("-3.7", dtype::f64, to_bits(-3.7));
  row("-0.0", dtype::f64, to_bits(-0.0));
  row("300.5", dtype::f64, to_bits(300.5));
  row("65519", dtype::f64, to_bits(65519.0));
  row("65520", dtype::f64, to_bits(65520.0));
  row("3e9", dtype::f64, to_bits(3e9));
  row("1e30", dtype::f64, to_bits(1e30));
  row("-inf", dtype::f64, to_bits(-__builtin_inf()));
  row("NaN", dtype::f64, infinity_bits(dtype::f64) | 1);
  row("1e-7", dtype::f64, to_bits(1e-7));
  row("1e-40", dtype::f64, to_bits(1e-40));
  row("1 + 2^-11 + 2^-40", dtype::f64, to_bits(1 + 0x1p-11 + 0x1p-40));
  row("-1", dtype::i32, -1);
  row("300", dtype::i32, 300);
  row("16777217", dtype::i32, 16777217);
  row("2^64 - 1", dtype::u64, -1);
  row("true", dtype::boolean, 1);
  check_section("docs/numbers.md", "conversions", out);
}
