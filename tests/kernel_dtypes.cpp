// Kernels on every element type, called as users call them.
#include <doctest/doctest.h>

#include <limits>
#include <random>
#include <vector>

#include "weft/weft.hpp"

using weft::bf16, weft::f16;

namespace {

constexpr auto copy = weft::kernel<"copy">(
    [](auto A) { return weft::compute<"B">(A.extent(0), A.extent(1), [=](auto i, auto j) { return A(i, j); }); },
    [](auto& s, auto, auto B) {
      auto [i, j] = B.axes();
      auto [jo, ji] = s.split(j, 64);
      s.vectorize(ji);
    });
constexpr auto larger = weft::kernel<"larger">(
    [](auto A, auto x) { return weft::compute<"B">(A.extent(0), [=](auto i) { return weft::max(A(i), x); }); },
    [](auto& s, auto, auto, auto B) {
      auto [i] = B.axes();
      auto [io, ii] = s.split(i, 32);
      s.vectorize(ii);
    });
constexpr auto total = weft::kernel<"total">([](auto A) {
  return weft::compute<"B">(1, [=](auto) { return weft::sum(A.extent(0), [=](auto k) { return A(k); }); });
});
constexpr auto relu = weft::kernel<"relu">(
    [](auto A) { return weft::compute<"B">(A.extent(0), [=](auto i) { return weft::max(A(i), 0); }); },
    [](auto& s, auto, auto B) {
      auto [i] = B.axes();
      auto [io, ii] = s.split(i, 16);
      s.vectorize(ii);
    });
constexpr auto average = weft::kernel<"average">(
    [](auto A) {
      return weft::compute<"B">(A.extent(0) - 1,
                                [=](auto i) { return weft::cast<std::uint8_t>((A(i) + A(i + 1)) / 2); });
    },
    [](auto& s, auto, auto B) {
      auto [i] = B.axes();
      auto [io, ii] = s.split(i, 32);
      s.vectorize(ii);
    });
template <class Half>
constexpr auto matmul = weft::kernel<"matmul_half">(
    [](auto A, auto B) {
      auto const C = weft::compute<"C">(A.extent(0), B.extent(1), [=](auto i, auto j) {
        return weft::sum(A.extent(1), [=](auto k) { return A(i, k) * B(k, j); });
      });
      return weft::compute<"D">(A.extent(0), B.extent(1), [=](auto i, auto j) { return weft::cast<Half>(C(i, j)); });
    },
    [](auto& s, auto, auto, auto C, auto D) {
      auto [i, j, k] = C.axes();
      auto [io, ii] = s.split(i, 2);
      auto [jo, ji] = s.split(j, 32);
      s.reorder(io, jo, k, ii, ji);
      s.unroll(ii);
      s.vectorize(ji);
      auto [m, n] = D.axes();
      s.parallel(m);
      s.vectorize(s.split(n, 32)[1]);
    });
static_assert(weft::checked<matmul<f16>, weft::arg<f16, 2>, weft::arg<f16, 2>>);

template <class T>
std::vector<T> elements(std::size_t n) {
  std::mt19937_64 random(n);
  std::vector<T> all;
  for (std::size_t i = 0; i < n; ++i) {
    std::int64_t const bits = static_cast<std::int64_t>(random());
    constexpr weft::dtype t = weft::dtype_of<T>;
    // Of floats numbers, since NaN is not equal to itself.
    if constexpr (weft::is_float(t))
      all.push_back(weft::from_bits<T>(weft::converted(weft::dtype::i8, t, bits % 128)));
    else
      all.push_back(weft::from_bits<T>(t == weft::dtype::boolean ? bits & 1 : weft::wrapped(t, bits)));
  }
  return all;
}
template <class T>
void check_type() {
  CAPTURE(weft::name(weft::dtype_of<T>));
  auto const a = elements<T>(7 * 83);
  weft::tensor<T, 2> b(7, 83);
  copy(weft::view(a.data(), 7, 83), weft::out(b));
  for (std::size_t i = 0; i < a.size(); ++i) REQUIRE(weft::to_bits(b.data()[i]) == weft::to_bits(a[i]));
  // Every other element, backwards.
  copy(weft::view(a.data() + a.size() - 1, 7, 41).strided(-83, -2), weft::out(b.data(), 7, 41));
  for (std::size_t i = 0; i < 7; ++i)
    for (std::size_t j = 0; j < 41; ++j)
      REQUIRE(weft::to_bits(b.data()[i * 41 + j]) == weft::to_bits(a[a.size() - 1 - 83 * i - 2 * j]));
  auto const c = larger(a, a[5]);
  static_assert(std::is_same_v<decltype(c), weft::tensor<T, 1> const>);
  CHECK(weft::evaluate(larger, a, a[5]) == c);
  for (std::size_t i = 0; i < a.size(); ++i) REQUIRE(c.data()[i] == (a[i] > a[5] ? a[i] : a[5]));
  if constexpr (!std::is_same_v<T, bool>) {
    auto const sum = total(a);
    static_assert(
        std::is_same_v<decltype(sum), weft::tensor<weft::element_t<weft::computed(weft::dtype_of<T>)>, 1> const>);
    CHECK(weft::evaluate(total, a) == sum);
  }
}
template <class Half>
void check_matmul() {
  auto const a = elements<Half>(5 * 40), b = elements<Half>(40 * 51);
  std::vector<Half> c(5 * 51);
  matmul<Half>(weft::view(a, 5, 40), weft::view(b, 40, 51), weft::out(c, 5, 51));
  auto const expected =
      weft::evaluate({.contract = weft::cpu().fma}, matmul<Half>, weft::view(a, 5, 40), weft::view(b, 40, 51));
  for (std::size_t i = 0; i < c.size(); ++i) CHECK(c[i].bits == expected[i].bits);
}

// In a constant expression too.
constexpr auto square = weft::kernel<"square">(
    [](auto A) { return weft::compute<"B">(A.extent(0), [=](auto i) { return weft::cast<f16>(A(i) * A(i)); }); });
static_assert(weft::evaluate(square, std::array{f16(1.5f), f16(-256.0f)})[0].bits == f16(2.25f).bits);
static_assert(weft::evaluate(square, std::array{f16(1.5f), f16(-256.0f)})[1].bits == 0x7c00);
static_assert(weft::evaluate(total, std::array<std::uint8_t, 2>{200, 100}) == std::array{300});

}  // namespace

TEST_CASE("tensors and numbers of every type go in and come out") {
#define WEFT_TEST_TYPE(id, type, text, kind, computed) \
  if constexpr (weft::dtype::id != weft::dtype::boolean) check_type<type>();
  WEFT_DTYPES(WEFT_TEST_TYPE)
#undef WEFT_TEST_TYPE
}
TEST_CASE("products of halves are added in f32 and stored by a cast") {
  check_matmul<f16>();
  check_matmul<bf16>();
}
TEST_CASE("maxima of halves keep the type, and go in place") {
  auto a = elements<f16>(77);
  a[3] = weft::from_bits<f16>(0x8000);
  auto const before = a;
  relu(a, weft::out(a));
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(float(a[i]) == (before[i] > 0 ? float(before[i]) : 0.0f));
  CHECK(a[3].bits == 0);  // max(-0, 0) is its second operand
}
TEST_CASE("bytes are added as ints: no sum of two wraps") {
  auto const a = elements<std::uint8_t>(1000);
  std::vector<std::uint8_t> b(999);
  average(a, weft::out(b));
  for (std::size_t i = 0; i < b.size(); ++i) REQUIRE(b[i] == (a[i] + a[i + 1]) / 2);
}
TEST_CASE("long long is an i64, as an element and as a number") {
  std::vector<long long> const a{1, -2, std::numeric_limits<long long>::max()};
  std::vector<long long> b(3);
  larger(a, -1, weft::out(b));
  CHECK(b == std::vector<long long>{1, -1, a[2]});
  auto const c = larger(a, 2LL);
  static_assert(std::is_same_v<decltype(c), weft::tensor<std::int64_t, 1> const>);
  CHECK(c(0) == 2);
  CHECK(c(2) == a[2]);
  CHECK(weft::evaluate(larger, a, 2LL)[1] == 2);
  std::vector<unsigned long long> const u{~0ULL, 1};
  CHECK(larger(u, 5ULL)(0) == ~0ULL);
}
#if defined(__FLT16_MAX__)
TEST_CASE("the compiler's own 16-bit float is an f16") {
  std::vector<_Float16> const a{_Float16(1.5f), _Float16(-2.0f), _Float16(300.0f)};
  std::vector<_Float16> b(3);
  square(a, weft::out(b));
  CHECK(static_cast<float>(b[0]) == 2.25f);
  CHECK(weft::to_bits(b[2]) == 0x7c00);
  auto const c = larger(a, _Float16(0.5f));
  static_assert(std::is_same_v<decltype(c), weft::tensor<f16, 1> const>);
  CHECK(c(1).bits == f16(0.5f).bits);
  CHECK(weft::evaluate(square, a)[1].bits == f16(4.0f).bits);
  static_assert(weft::checked<square, weft::arg<_Float16, 1>>);
}
#endif
namespace {
constexpr auto picked = [](auto table, auto index) {
  return weft::compute<"B">(index.extent(0), [=](auto i) {
    return weft::select(0 <= index(i) && index(i) < table.extent(0), table(index(i)), -1.0f);
  });
};
template <class T>
void check_picked() {
  // Values far outside: were they read, the program would end.
  std::vector<T> const index{0, 6, 7, std::numeric_limits<T>::max(), std::numeric_limits<T>::min(), 3, 5, 1, 100, 2, 4, 6, 0};
  std::vector<float> const table{10, 11, 12, 13, 14, 15, 16};
  auto const plain = weft::kernel<"picked">(picked)(table, index);
  auto const in_lanes = weft::kernel<"picked">(picked, [](auto& s, auto, auto, auto B) {
    s.vectorize(s.split(B.axes()[0], 8)[1]);
  })(table, index);
  for (std::size_t i = 0; i < index.size(); ++i) {
    bool const inside = index[i] >= 0 && index[i] < 7;
    float const wanted = inside ? table[static_cast<std::size_t>(index[i])] : -1;
    CHECK(plain(i) == wanted);
    CHECK(in_lanes(i) == wanted);
  }
}
}  // namespace
TEST_CASE("a subscript of any integer type may be guarded by a condition on it") {
  check_picked<std::int8_t>();
  check_picked<std::int16_t>();
  check_picked<std::int32_t>();
  check_picked<std::int64_t>();
  check_picked<std::uint8_t>();
  check_picked<std::uint16_t>();
  check_picked<std::uint32_t>();
}
