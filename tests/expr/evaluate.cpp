#include "weft/expr/evaluate.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>

#include "programs.hpp"

using namespace weft_test;
using weft::program;

namespace {
constexpr std::int64_t M = 5, N = 4, K = 7;

template <class T>
constexpr weft::sequence<T> numbers(std::int64_t count, int seed) {
  weft::sequence<T> x;
  for (std::int64_t n = 0; n < count; ++n) x.push_back(static_cast<T>((n * 37 + seed) % 19 - 9) / static_cast<T>(4));
  return x;
}
template <class T>
constexpr program matmul() {
  program p;
  auto const A = input<T, 2>(p, "A"), B = input<T, 2>(p, "B");
  weft::compute<"C">(A.extent(0), B.extent(1),
                     [=](auto i, auto j) { return weft::sum(A.extent(1), [=](auto k) { return A(i, k) * B(k, j); }); });
  return p;
}
constexpr bool small_product() {
  program const p = matmul<int>();
  return elements<int>(run(p, {dense<int>({2, 3}, {1, 2, 3, 4, 5, 6}), dense<int>({3, 2}, {7, 8, 9, 10, 11, 12})})) ==
         weft::sequence<int>{58, 64, 139, 154};
}
static_assert(small_product());
constexpr bool small_floats() {
  program p;
  auto const A = input<float, 1>(p, "A");
  auto const S = weft::compute<"S">(1, [=](auto) { return weft::sum(A.extent(0), [=](auto k) { return A(k); }); });
  weft::compute<"C">(A.extent(0), [=](auto i) { return weft::select(A(i) > 1.5f, A(i) / S(0), -A(i)); });
  return elements<float>(run(p, {dense<float>({2}, {1, 3})})) == weft::sequence<float>{-1, 0.75f};
}
static_assert(small_floats());
// Literal extents in each other, and axes that meet late: the scratch programs in the compiler.
constexpr bool small_window() {
  program p;
  auto const A = input<int, 1>(p, "A"), B = input<int, 1>(p, "B");
  weft::compute<"C">(
      2, [=](auto i) { return weft::sum(2, 2, [=](auto k, auto l) { return A(k) * B(i) + A(k + i + l); }); });
  return elements<int>(run(p, {dense<int>({4}, {1, 2, 3, 4}), dense<int>({2}, {10, 20})})) ==
         weft::sequence<int>{2 * 30 + 8, 2 * 60 + 12};
}
static_assert(small_window());
}  // namespace

TEST_CASE("evaluate of a matrix product is the three loops") {
  auto const a = numbers<double>(M * K, 1), b = numbers<double>(K * N, 5);
  auto const c = elements<double>(run(matmul<double>(), {dense<double>({M, K}, a), dense<double>({K, N}, b)}));
  for (std::int64_t i = 0; i < M; ++i)
    for (std::int64_t j = 0; j < N; ++j) {
      double sum = 0;
      for (std::int64_t k = 0; k < K; ++k)
        sum += a[static_cast<std::size_t>(i * K + k)] * b[static_cast<std::size_t>(k * N + j)];
      CHECK(c[static_cast<std::size_t>(i * N + j)] == sum);
    }
}

TEST_CASE("evaluate of a stencil: clamp repeats the edge, select keeps from reading beyond it") {
  weft::sequence<int> const a{3, 1, 4, 1, 5, 9, 2};
  program p;
  auto const A = input<int, 1>(p, "A");
  auto const n = A.extent(0);
  weft::compute<"clamped">(
      n, [=](auto i) { return A(weft::clamp(i - 1, 0, n - 1)) + 10 * A(i) + 100 * A(weft::clamp(i + 1, 0, n - 1)); });
  weft::compute<"guarded">(n, [=](auto i) {
    return weft::select(i > 0, A(i - 1), 0) + 10 * A(i) + 100 * weft::select(i < n - 1, A(i + 1), 0);
  });
  auto const clamped = elements<int>(run(p, {dense<int>({7}, a)}, {}, false, 0));
  auto const guarded = elements<int>(run(p, {dense<int>({7}, a)}, {}, false, 1));
  for (std::size_t i = 0; i < 7; ++i) {
    CHECK(clamped[i] == a[i > 0 ? i - 1 : 0] + 10 * a[i] + 100 * a[i < 6 ? i + 1 : 6]);
    CHECK(guarded[i] == (i > 0 ? a[i - 1] : 0) + 10 * a[i] + (i < 6 ? 100 * a[i + 1] : 0));
  }
}

TEST_CASE("an access that leaves its tensor is an argument_error") {
  for (int shift : {-1, 1}) {
    program p;
    auto const A = input<int, 1>(p, "A");
    weft::compute<"C">(A.extent(0), [=](auto i) { return A(i + shift); });
    CHECK_THROWS_WITH_AS(run(p, {dense<int>({3}, {1, 2, 3})}),
                         shift < 0 ? "evaluate: A(-1) is outside of A, which is 3; clamp the index, guard the access by select, or "
                                     "give a larger tensor"
                                   : "evaluate: A(3) is outside of A, which is 3; clamp the index, guard the access by select, or "
                                     "give a larger tensor",
                         weft::argument_error);
  }
}
TEST_CASE("an access that leaves a stage is an argument_error, for all elements and for one") {
  program p;
  auto const A = input<int, 2>(p, "A");
  auto const B = weft::compute<"B">(A.extent(0), 2, [=](auto i, auto j) { return A(i, j); });
  weft::compute<"C">(A.extent(0), [=](auto i) { return B(i, i); });
  auto const in = dense<int>({3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  char const* const words = "evaluate: B(2, 2) is outside of B, which is 3 x 2; clamp the index, guard the access by select, or "
                            "compute more of it";
  CHECK_THROWS_WITH_AS(run(p, {in}), words, weft::argument_error);
  program const ready = weft::expand(weft::canonical(p), false);
  weft::sequence<weft::dense> const inputs{in, {}, {}};
  weft::sequence<std::int64_t> const none;
  weft::evaluator e(ready, inputs, none);
  CHECK(e.at(2, {1}) == 5);
  CHECK_THROWS_WITH_AS(e.at(2, {2}), words, weft::argument_error);
}

TEST_CASE("a reduction of no elements is its identity") {
  auto const of_nothing = [](auto zero, auto reduce) {
    using T = decltype(zero);
    program p;
    auto const A = input<T, 2>(p, "A");
    weft::compute<"C">(A.extent(0), [=](auto i) { return reduce(A.extent(1), [=](auto k) { return A(i, k); }); });
    T const only = elements<T>(run(p, {dense<T>({1, 0}, {})}))[0];
    return only;
  };
  auto const sum = [](auto n, auto f) { return weft::sum(n, f); };
  auto const max = [](auto n, auto f) { return weft::max(n, f); };
  auto const min = [](auto n, auto f) { return weft::min(n, f); };
  CHECK(of_nothing(1.0f, sum) == 0);
  CHECK(of_nothing(1.0f, max) == -std::numeric_limits<float>::infinity());
  CHECK(of_nothing(1.0, min) == std::numeric_limits<double>::infinity());
  CHECK(of_nothing(std::int32_t{1}, max) == INT32_MIN);
  CHECK(of_nothing(std::int64_t{1}, max) == INT64_MIN);
  CHECK(of_nothing(std::int64_t{1}, min) == INT64_MAX);
  CHECK(of_nothing(std::uint8_t{1}, max) == 0);
  CHECK(of_nothing(std::uint8_t{1}, min) == 255);
  CHECK(of_nothing(true, max) == false);
  CHECK(of_nothing(true, min) == true);
}

TEST_CASE("a result of no elements is empty") {
  auto const c = run(matmul<float>(), {dense<float>({0, 3}, {}), dense<float>({3, 2}, {1, 2, 3, 4, 5, 6})});
  CHECK(c.bits.empty());
  CHECK(c.shape == weft::sequence<std::int64_t>{0, 2});
}

TEST_CASE("integer division: the whole table, for values and for indices") {
  weft::sequence<int> const x{-7, -2, -1, 0, 1, 2, 7, INT32_MIN, INT32_MAX};
  program p;
  auto const A = input<int, 1>(p, "A");
  weft::compute<"quotients">(9, 9, [=](auto i, auto j) { return A(i) / A(j); });
  weft::compute<"remainders">(9, 9, [=](auto i, auto j) { return A(i) % A(j); });
  auto const q = elements<int>(run(p, {dense<int>({9}, x)}, {}, false, 0));
  auto const r = elements<int>(run(p, {dense<int>({9}, x)}, {}, false, 1));
  for (std::size_t i = 0; i < 9; ++i)
    for (std::size_t j = 0; j < 9; ++j) {
      std::int64_t const a = x[i], b = x[j];
      CHECK(q[i * 9 + j] == (b == 0 ? 0 : static_cast<int>(a / b)));
      CHECK(r[i * 9 + j] == (b == 0 ? 0 : static_cast<int>(a % b)));
    }
  program down;
  auto const B = input<int, 1>(down, "B");
  weft::compute<"C">(B.extent(0), [=](auto i) {
    return weft::cast<int>((i - 6) / 4) + 100 * weft::cast<int>((i - 6) % 4) +
           1000 * weft::cast<int>((i - 6) / (i - 6));
  });
  auto const c = elements<int>(run(down, {dense<int>({13}, weft::sequence<int>(13))}));
  for (int i = 0; i < 13; ++i) {
    int const floor = (i + 6) / 4 - 3, modulo = (i + 6) % 4;
    CHECK(c[static_cast<std::size_t>(i)] == floor + 100 * modulo + (i == 6 ? 0 : 1000));
  }
}

TEST_CASE("integers wrap") {
  CHECK(map(weft::sequence<int>{INT32_MAX}, [](auto a) { return a + 1; })[0] == INT32_MIN);
  CHECK(map(weft::sequence<int>{INT32_MIN}, [](auto a) { return -a; })[0] == INT32_MIN);
  CHECK(map(weft::sequence<std::int64_t>{INT64_MAX}, [](auto a) { return a * a; })[0] == 1);
  // Once 254: a u8 is a number to be stored, computed with as an int.
  CHECK(map(weft::sequence<std::uint8_t>{3}, [](auto a) { return a - 5; })[0] == -2);
  CHECK(map(weft::sequence<std::uint32_t>{3}, [](auto a) { return a - 5; })[0] == 0xfffffffe);
}

TEST_CASE("casts saturate, truncate, and take NaN to 0") {
  float const inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  weft::sequence<float> const x{-1.9f, 2.9f, 255.5f, 256, -1, 3e9f, -3e9f, inf, -inf, nan, 1e30f};
  CHECK(map(x, [](auto a) { return weft::cast<std::int32_t>(a); }) ==
        weft::sequence<std::int32_t>{-1, 2, 255, 256, -1, INT32_MAX, INT32_MIN, INT32_MAX, INT32_MIN, 0, INT32_MAX});
  CHECK(map(x, [](auto a) { return weft::cast<std::uint8_t>(a); }) ==
        weft::sequence<std::uint8_t>{0, 2, 255, 255, 0, 255, 0, 255, 0, 0, 255});
  auto const wide =
      map(weft::sequence<double>{9.3e18, -9.3e18, 9007199254740993.0}, [](auto a) { return weft::cast<std::int64_t>(a); });
  CHECK(wide == weft::sequence<std::int64_t>{INT64_MAX, INT64_MIN, 9007199254740992});
  CHECK(map(weft::sequence<float>{0, -0.0f, 0.5f, nan}, [](auto a) { return weft::cast<bool>(a); }) ==
        weft::sequence<bool>{false, false, true, true});
  CHECK(map(weft::sequence<int>{-1, 256, 511}, [](auto a) { return weft::cast<std::uint8_t>(a); }) ==
        weft::sequence<std::uint8_t>{255, 0, 255});
  CHECK(map(weft::sequence<std::int64_t>{(1LL << 24) + 1}, [](auto a) { return weft::cast<float>(a); })[0] == 16777216.0f);
}

TEST_CASE("min and max give the second operand when one is NaN") {
  float const nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(map(weft::sequence<float>{nan}, [](auto a) { return weft::min(a, 1); })[0] == 1);
  CHECK(map(weft::sequence<float>{nan}, [](auto a) { return weft::max(a, 1); })[0] == 1);
  float const kept = map(weft::sequence<float>{nan}, [](auto a) { return weft::max(1, a); })[0];
  CHECK(kept != kept);
}

TEST_CASE("sums run over the last axis fastest, from the identity") {
  // Powers of two so far apart that each order of adding has another result.
  weft::sequence<float> const a{1e8f, 1, -1e8f, 1, 0.5f, 3};
  program p;
  auto const A = input<float, 2>(p, "A");
  weft::compute<"rows">(
      1, [=](auto) { return weft::sum(A.extent(0), A.extent(1), [=](auto k, auto l) { return A(k, l); }); });
  weft::compute<"columns">(
      1, [=](auto) { return weft::sum(A.extent(1), A.extent(0), [=](auto k, auto l) { return A(l, k); }); });
  float rows = 0, columns = 0;
  for (std::size_t k = 0; k < 6; ++k) rows += a[k];
  for (std::size_t l = 0; l < 3; ++l) columns += a[l], columns += a[l + 3];
  REQUIRE(rows != columns);
  CHECK(elements<float>(run(p, {dense<float>({2, 3}, a)}, {}, false, 0))[0] == rows);
  CHECK(elements<float>(run(p, {dense<float>({2, 3}, a)}, {}, false, 1))[0] == columns);
}

TEST_CASE("one element by itself is the element of the whole, across stages") {
  program p;
  auto const A = input<float, 2>(p, "A");
  auto const S =
      weft::compute<"S">(A.extent(0), [=](auto i) { return weft::sum(A.extent(1), [=](auto k) { return A(i, k); }); });
  weft::compute<"C">(A.extent(0), A.extent(1),
                     [=](auto i, auto j) { return A(i, j) / S(i) + S((i + 1) % A.extent(0)); });
  program const q = weft::expand(weft::canonical(p), true);
  weft::sequence<weft::dense> inputs{dense<float>({M, N}, numbers<float>(M * N, 3))};
  inputs.resize(q.tensors.size());
  weft::sequence<std::int64_t> const none;
  weft::evaluator whole(q, inputs, none), single(q, inputs, none);
  weft::dense const c = whole.result(2);
  for (std::int64_t i = 0; i < M; ++i)
    for (std::int64_t j = 0; j < N; ++j) CHECK(single.at(2, {i, j}) == c.bits[static_cast<std::size_t>(i * N + j)]);
}
