#include "weft/expr/compute.hpp"

#include <doctest/doctest.h>

#include "programs.hpp"
#include "weft/expr/print.hpp"
#include "weft/expr/verify.hpp"

using namespace weft_test;
using weft::program;

namespace {
using byte = std::uint8_t;
template <class A, class B>
using sum_type = typename decltype(std::declval<A>() + std::declval<B>())::element_type;
template <class T>
using v = weft::value<T>;
using weft::axis_index;
using weft::extent;

template <class A, class B>
using larger_type = typename decltype(weft::max(std::declval<A>(), std::declval<B>()))::element_type;
template <class T>
using negative_type = typename decltype(-std::declval<v<T>>())::element_type;
using i8 = std::int8_t;
using i16 = std::int16_t;
using i32 = std::int32_t;
using i64 = std::int64_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using weft::f16, weft::bf16;

// The dtype table, by the types of the face (tests/base/dtype.cpp has its laws).
static_assert(std::is_same_v<sum_type<v<float>, v<double>>, double>);
static_assert(std::is_same_v<sum_type<v<i64>, v<float>>, float>);
static_assert(std::is_same_v<sum_type<v<byte>, v<i32>>, i32>);
static_assert(std::is_same_v<sum_type<v<i32>, v<i64>>, i64>);
static_assert(std::is_same_v<sum_type<v<bool>, v<byte>>, i32>);
static_assert(std::is_same_v<sum_type<v<float>, axis_index>, float>);
static_assert(std::is_same_v<sum_type<v<i32>, axis_index>, i64>);
static_assert(std::is_same_v<sum_type<v<i32>, v<u32>>, i64> && std::is_same_v<sum_type<v<u64>, v<u32>>, u64>);
// Narrow types widen before they compute, by themselves too.
static_assert(std::is_same_v<sum_type<v<byte>, v<byte>>, i32> && std::is_same_v<sum_type<v<i8>, v<u16>>, i32>);
static_assert(std::is_same_v<sum_type<v<f16>, v<f16>>, float> && std::is_same_v<sum_type<v<f16>, v<bf16>>, float>);
static_assert(std::is_same_v<sum_type<v<f16>, v<double>>, double> && std::is_same_v<sum_type<v<bf16>, v<i64>>, float>);
static_assert(std::is_same_v<negative_type<i16>, i32> && std::is_same_v<negative_type<f16>, float>);
static_assert(std::is_same_v<negative_type<u32>, u32>);
// What only chooses keeps the type of equal ones.
static_assert(std::is_same_v<larger_type<v<byte>, v<byte>>, byte> && std::is_same_v<larger_type<v<f16>, v<f16>>, f16>);
static_assert(std::is_same_v<larger_type<v<i8>, v<i16>>, i32> && std::is_same_v<larger_type<v<f16>, v<bf16>>, float>);
static_assert(std::is_same_v<decltype(weft::select(std::declval<v<bool>>(), std::declval<v<f16>>(), 0)), v<f16>>);
static_assert(std::is_same_v<decltype(weft::clamp(std::declval<v<i8>>(), 0, 9)), v<i8>>);
// Numbers are weak: they take the type that the other side computes in, or has where it is only chosen.
static_assert(std::is_same_v<sum_type<v<float>, double>, float>);
static_assert(std::is_same_v<sum_type<v<byte>, long>, i32> && std::is_same_v<sum_type<v<u64>, int>, u64>);
static_assert(std::is_same_v<sum_type<int, v<double>>, double> && std::is_same_v<sum_type<v<f16>, double>, float>);
static_assert(std::is_same_v<larger_type<v<byte>, int>, byte> && std::is_same_v<larger_type<float, v<f16>>, f16>);
static_assert(std::is_same_v<sum_type<v<float>, f16>, float>);
// Arithmetic on indices stays an index, on extents an extent.
static_assert(std::is_same_v<decltype(axis_index{} + 1), axis_index>);
static_assert(std::is_same_v<decltype(extent{} * axis_index{}), axis_index>);
static_assert(std::is_same_v<decltype(extent{} - 2), extent>);
static_assert(std::is_same_v<decltype(axis_index{} < extent{}), v<bool>>);
// Extents are no numbers, and a reduction is not cast.
static_assert(!std::is_convertible_v<extent, bool> && !std::is_convertible_v<extent, std::int64_t>);
template <class A, class B>
concept adds = requires(A a, B b) {
  a + b;
};
template <class A>
concept casts = requires(A a) {
  weft::cast<float>(a);
};
static_assert(adds<v<float>, v<float>> && !adds<v<float>, char const*>);
static_assert(casts<v<int>> && casts<axis_index> && !casts<weft::reduction<double, 1>>);
}  // namespace

TEST_CASE("operators compute what C++ computes") {
  weft::sequence<float> const x{-2.5f, 0.0f, 0.1f, 3.0f};
  auto const check = [&](auto f) {
    weft::sequence<float> const got = map(x, f);
    for (std::size_t n = 0; n < x.size(); ++n) CHECK(got[n] == f(x[n]));
  };
  check([](auto a) { return a + a * a - 2 * a; });
  check([](auto a) { return 1 / (a + 10) - a; });
  check([](auto a) { return -a; });
  auto const flags = map(x, [](auto a) { return weft::select((a < 0 || a >= 3) && !(a == 3), a, -1.0f); });
  CHECK(flags == weft::sequence<float>{-2.5f, -1, -1, -1});
  CHECK(map(x, [](auto a) { return a > 0.05f; }) == weft::sequence<bool>{false, false, true, true});
  CHECK(map(x, [](auto a) { return a <= 0 && a != 0; }) == weft::sequence<bool>{true, false, false, false});
}

TEST_CASE("clamp, min and max of values") {
  weft::sequence<int> const x{-5, 0, 3, 9};
  CHECK(map(x, [](auto a) { return weft::clamp(a, 0, 4); }) == weft::sequence<int>{0, 0, 3, 4});
  CHECK(map(x, [](auto a) { return weft::max(a, 1); }) == weft::sequence<int>{1, 1, 3, 9});
  CHECK(map(x, [](auto a) { return weft::min(2, a); }) == weft::sequence<int>{-5, 0, 2, 2});
}

TEST_CASE("division on integers truncates, on indices it rounds down") {
  CHECK(map(weft::sequence<int>{-7, 7, 5}, [](auto a) { return a / 2; }) == weft::sequence<int>{-3, 3, 2});
  CHECK(map(weft::sequence<int>{-7, 7, 5}, [](auto a) { return a % 4; }) == weft::sequence<int>{-3, 3, 1});
  program p;
  auto const A = input<float, 1>(p, "A");
  weft::compute<"C">(A.extent(0),
                     [=](auto i) { return weft::cast<int>((i - 3) / 2) * 100 + weft::cast<int>((i - 3) % 4); });
  CHECK(elements<int>(run(p, {dense<float>({5}, {0, 0, 0, 0, 0})})) ==
        weft::sequence<int>{-200 + 1, -100 + 2, -100 + 3, 0, 1});
}

TEST_CASE("a number takes the type of what it meets") {
  // Once a u8 that wrapped to 44: narrow types widen now.
  CHECK(map(weft::sequence<std::uint8_t>{200}, [](auto a) { return a + 100; }) == weft::sequence<int>{300});
  CHECK(map(weft::sequence<std::uint8_t>{3, 200}, [](auto a) { return weft::max(a, 100); }) ==
        weft::sequence<std::uint8_t>{100, 200});
  CHECK(map(weft::sequence<float>{1}, [](auto a) { return a + 0.1; }) == weft::sequence<float>{1.1f});
  CHECK(map(weft::sequence<float>{2}, [](auto a) { return weft::select(a > 1, 1, 0); }) == weft::sequence<int>{1});
}

TEST_CASE("a number that does not fit the type that it takes is refused, and one that does is not") {
  weft::sequence<std::uint8_t> const bytes{0, 200};
  weft::sequence<std::uint64_t> const large{~std::uint64_t(0)};
  weft::sequence<f16> const halves{f16(2.0f)};
  auto const refused = [](auto const& x, auto f) { CHECK_THROWS_AS(map(x, f), weft::argument_error); };
  refused(bytes, [](auto a) { return weft::max(a, 300); });
  refused(bytes, [](auto a) { return weft::select(a > 3, a, -1); });
  refused(bytes, [](auto a) { return weft::clamp(a, 0, 256); });
  refused(bytes, [](auto a) { return a + (1LL << 31); });
  refused(large, [](auto a) { return a + -1; });
  refused(large, [](auto a) { return a == -1; });
  refused(weft::sequence<std::int64_t>{1}, [](auto a) { return a + ~std::uint64_t(0); });
  refused(halves, [](auto a) { return weft::max(a, 70000); });
  refused(halves, [](auto a) { return a * 1e300; });
  refused(weft::sequence<bool>{true}, [](auto a) { return a == 2; });
  CHECK(map(bytes, [](auto a) { return a + -300; }) == weft::sequence<int>{-300, -100});
  CHECK(map(bytes, [](auto a) { return a < 300; }) == weft::sequence<bool>{true, true});
  CHECK(map(large, [](auto a) { return weft::min(a, ~std::uint64_t(0) - 1); }) ==
        weft::sequence<std::uint64_t>{large[0] - 1});
  CHECK(map(large, [](auto a) { return a % 10u + 1; }) == weft::sequence<std::uint64_t>{6});
  CHECK(map(halves, [](auto a) { return weft::min(a, __builtin_inf()); })[0].bits == f16(2.0f).bits);
  CHECK(map(halves, [](auto a) { return weft::max(a, 65504); })[0].bits == 0x7bff);
  CHECK(map(halves, [](auto a) { return a * f16(0.1f); }) == weft::sequence<float>{2 * float(f16(0.1f))});
}

TEST_CASE("sums of narrow types are wide, maxima keep the type") {
  auto const reduced = [](auto const& x, auto reduce) {
    using T = typename std::remove_cvref_t<decltype(x)>::value_type;
    program p;
    auto const A = input<T, 1>(p, "A");
    auto const C = weft::compute<"C">(1, [=](auto) { return reduce(A.extent(0), [=](auto k) { return A(k); }); });
    p.outputs = {C.id};
    CHECK(weft::fault_of(weft::canonical(p)) == "");
    using R = typename decltype(C(0))::element_type;
    return elements<R>(run(p, {dense<T>({static_cast<std::int64_t>(x.size())}, x)}))[0];
  };
  auto const sum = [](auto n, auto f) { return weft::sum(n, f); };
  auto const max = [](auto n, auto f) { return weft::max(n, f); };
  auto const min = [](auto n, auto f) { return weft::min(n, f); };
  CHECK(reduced(weft::sequence<i8>{100, 100, -1}, sum) == 199);
  CHECK(reduced(weft::sequence<u16>{65535, 65535}, sum) == 131070);
  CHECK(reduced(weft::sequence<f16>{f16(65504.0f), f16(65504.0f)}, sum) == 131008.0f);
  CHECK(reduced(weft::sequence<u64>{~u64(0), 2}, sum) == 1);
  auto const byte_max = reduced(weft::sequence<byte>{3, 250}, max);
  static_assert(std::is_same_v<decltype(byte_max), byte const>);
  CHECK(byte_max == 250);
  CHECK(reduced(weft::sequence<f16>{}, max).bits == 0xfc00);  // of nothing: minus infinity
  CHECK(reduced(weft::sequence<bf16>{bf16(1.0f), bf16(-3.0f)}, min).bits == bf16(-3.0f).bits);
  CHECK(reduced(weft::sequence<u64>{}, min) == ~u64(0));
  CHECK(reduced(weft::sequence<i8>{}, max) == -128);
}

TEST_CASE("scalars keep their own types and places") {
  program p;
  auto const A = input<float, 1>(p, "A");
  weft::value<float> const a{{&p, p.add_scalar(weft::dtype::f32)}};
  weft::value<std::int32_t> const b{{&p, p.add_scalar(weft::dtype::i32)}};
  weft::compute<"C">(A.extent(0), [=](auto i) { return a * A(i) + b; });
  auto const c = run(p, {dense<float>({2}, {1, 2})}, {weft::to_bits(0.5f), weft::to_bits(3)});
  CHECK(elements<float>(c) == weft::sequence<float>{3.5f, 4});
}

TEST_CASE("stages read earlier stages; equal names get suffixes, long ones too") {
  program p;
  auto const A = input<float, 1>(p, "A");
  auto const B = weft::compute<"A">(A.extent(0), [=](auto i) { return A(i) + 1; });
  auto const C = weft::compute<"A">(B.extent(0), [=](auto i) { return B(i) * A(i); });
  CHECK(p.tensors[1].name.view() == "A_1");
  CHECK(p.tensors[2].name.view() == "A_2");
  CHECK(elements<float>(run(p, {dense<float>({3}, {1, 2, 3})})) == weft::sequence<float>{2, 6, 12});
  for (int n = 0; n < 3; ++n)
    weft::compute<"the_name_has_just_30_character">(C.extent(0), [=](auto i) { return C(i); });
  CHECK(p.tensors[3].name.size == 30);
  CHECK_FALSE(p.tensors[4].name == p.tensors[3].name);
  CHECK_FALSE(p.tensors[5].name == p.tensors[4].name);
}

TEST_CASE("a short expression of extents is a shape") {
  program p;
  auto const A = input<float, 1>(p, "A");
  weft::compute<"C">(A.extent(0) - 2, [=](auto i) { return weft::sum(3, [=](auto k) { return A(i + k); }); });
  CHECK(elements<float>(run(p, {dense<float>({5}, {1, 2, 3, 4, 5})})) == weft::sequence<float>{6, 9, 12});
}

// Literal extents: which axes meet which program when, in every order.
TEST_CASE("literal extents find their program whatever meets first") {
  weft::sequence<float> a(16), b(16), c(16);
  for (std::size_t n = 0; n < 16; ++n) a[n] = float(n), b[n] = float(n % 5), c[n] = float(n * n % 7);
  auto const check = [&](auto body, auto expected) {
    program p;
    auto const A = input<float, 1>(p, "A"), B = input<float, 1>(p, "B"), C = input<float, 1>(p, "C");
    auto const D = weft::compute<"D">(
        4, [=](auto i) { return weft::sum(3, 2, [=](auto k, auto l) { return body(A, B, C, i, k, l); }); });
    p.outputs.push_back(D.id);
    program const q = weft::canonical(p);
    REQUIRE(weft::fault_of(q) == "");
    CHECK(q.axes.size() == 3);
    CHECK(q.tensors.size() == 4);
    weft::sequence<float> const got =
        elements<float>(run(p, {dense<float>({16}, a), dense<float>({16}, b), dense<float>({16}, c)}));
    for (std::size_t i = 0; i < 4; ++i) {
      float sum = 0;
      for (std::size_t k = 0; k < 3; ++k)
        for (std::size_t l = 0; l < 2; ++l) sum += expected(i, k, l);
      CHECK(got[i] == sum);
    }
  };
  check([](auto A, auto, auto, auto i, auto k, auto l) { return A(i + k * 2 + l); },
        [&](auto i, auto k, auto l) { return a[i + k * 2 + l]; });
  check([](auto A, auto, auto, auto i, auto k, auto l) { return A(k + l + i); },
        [&](auto i, auto k, auto l) { return a[i + k + l]; });
  // Each axis meets the program by itself before they meet each other.
  check([](auto A, auto B, auto C, auto i, auto k, auto l) { return A(k) * B(i) * C(i + k) + l; },
        [&](auto i, auto k, auto l) { return a[k] * b[i] * c[i + k] + float(l); });
  check([](auto A, auto B, auto C, auto i, auto k, auto l) { return A(i) * B(k) * C(k + i + l); },
        [&](auto i, auto k, auto l) { return a[i] * b[k] * c[i + k + l]; });
  // The axes meet each other first, in one order and then in the other.
  check(
      [](auto A, auto B, auto, auto i, auto k, auto l) {
        auto const one = i + k;
        auto const other = l + (k + i);
        return A(other) - B(one);
      },
      [&](auto i, auto k, auto l) { return a[i + k + l] - b[i + k]; });
  check(
      [](auto A, auto B, auto, auto i, auto k, auto l) {
        auto const one = k + i;
        auto const other = i + k;
        return weft::select(one < other + l, A(i), B(-k + 2));
      },
      [&](auto i, auto k, auto l) { return l > 0 ? a[i] : b[2 - k]; });
  // The value itself is made of axes that have moved on already.
  check(
      [](auto A, auto, auto, auto i, auto k, auto l) {
        auto const unused = A(k);
        static_cast<void>(unused);
        return weft::cast<float>(i * 10) + weft::cast<float>(k) * weft::cast<float>(l);
      },
      [&](auto i, auto k, auto l) { return float(i * 10) + float(k) * float(l); });
}

TEST_CASE("literal and other extents mix") {
  program p;
  auto const A = input<float, 2>(p, "A");
  auto const C = weft::compute<"C">(2, A.extent(1), [=](auto i, auto j) {
    return weft::sum(A.extent(0), 2, [=](auto k, auto l) { return A(k, j) * (l + 1) + i; });
  });
  p.outputs.push_back(C.id);
  CHECK(weft::fault_of(weft::canonical(p)) == "");
  CHECK(elements<float>(run(p, {dense<float>({2, 2}, {1, 2, 3, 4})})) == weft::sequence<float>{12, 18, 16, 22});
}

TEST_CASE("a body that names no input is refused with what to do") {
  auto const make = [] { weft::compute<"C">(4, [](auto i) { return i + 1; }); };
  CHECK_THROWS_AS(make(), weft::argument_error);
}

TEST_CASE("what the face makes passes fault_of") {
  program p;
  auto const A = input<float, 2>(p, "A");
  auto const B =
      weft::compute<"B">(A.extent(0), [=](auto i) { return weft::max(A.extent(1), [=](auto k) { return A(i, k); }); });
  auto const C = weft::compute<"C">(A.extent(0), 3, [=](auto i, auto j) { return weft::exp(A(i, j) - B(i)) > 0.5f; });
  p.outputs = {C.id, B.id};
  CHECK(weft::fault_of(weft::canonical(p)) == "");
  CHECK(weft::fault_of(weft::expand(weft::canonical(p), true)) == "");
}
