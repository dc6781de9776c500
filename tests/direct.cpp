#include "weft/direct.hpp"

#include <doctest/doctest.h>

#include <array>
#include <vector>

#include "weft/runtime/tensor.hpp"

using weft::compute, weft::sum, weft::view;

namespace {
inline constexpr auto scale = weft::kernel<"scale">([](auto x, auto a) {
  return compute<"y">(x.extent(0), [=](auto i) { return a * x(i); });
});
inline constexpr auto product = weft::kernel<"product">([](auto A, auto B) {
  return compute<"C">(A.extent(0), B.extent(1), [=](auto i, auto j) {
    return sum(A.extent(1), [=](auto k) { return A(i, k) * B(k, j); });
  });
});
inline constexpr auto moments = weft::kernel<"moments">([](auto x) {
  auto n = x.extent(0);
  auto total = compute<"total">(1, [=](auto) { return sum(n, [=](auto k) { return x(k); }); });
  auto rest = compute<"rest">(n, [=](auto i) { return x(i) - total(0); });
  return weft::outputs(rest, total);
});
constexpr std::array matrix{1, 2, 3, 4, 5, 6};
constexpr std::array other{1, 0, 2, 0, 1, 3};
}  // namespace

// In the compiler: no machine code, no call of any kind.
static_assert(weft::evaluate(scale, std::array{1.f, 2.f}, 3.f) == std::array{3.f, 6.f});
static_assert(weft::evaluate(product, view(matrix, 2, 3), view(other, 3, 2)) == std::array{8, 9, 20, 18});
static_assert(weft::evaluate_at(product, std::array<std::int64_t, 2>{1, 0}, view(matrix, 2, 3), view(other, 3, 2)) ==
              20);
static_assert(weft::evaluate(moments, std::array{1, 2, 3})[boost::hana::size_c<0>] == std::array{-5, -4, -3});
static_assert(weft::evaluate(moments, std::array{1, 2, 3})[boost::hana::size_c<1>] == std::array{6});

TEST_CASE("evaluate_at refuses an index outside of the output") {
  CHECK_THROWS_AS(weft::evaluate_at(product, std::array<std::int64_t, 2>{2, 0}, view(matrix, 2, 3), view(other, 3, 2)),
                  weft::argument_error);
  CHECK_THROWS_AS(weft::evaluate_at(product, std::array<std::int64_t, 2>{0, -1}, view(matrix, 2, 3), view(other, 3, 2)),
                  weft::argument_error);
}
TEST_CASE("evaluate gives the shape and the values in row-major order") {
  auto const c = weft::evaluate(product, view(matrix, 3, 2), view(other, 2, 3));
  CHECK(c.shape == std::vector<std::int64_t>{3, 3});
  REQUIRE(c.size() == 9);
  CHECK(c[5] == 3 * 2 + 4 * 3);  // row 1, column 2
}
TEST_CASE("evaluate reads through strides, owning tensors and vectors alike") {
  weft::tensor<int, 2> t(2, 3);
  for (int i = 0; i < 6; ++i) t.data()[i] = matrix[static_cast<std::size_t>(i)];
  auto const plain = weft::evaluate(product, view(matrix, 2, 3), view(other, 3, 2));
  CHECK(weft::evaluate(product, t, view(other, 3, 2)) == plain.values);
  std::vector<int> const columns{1, 4, 2, 5, 3, 6};
  CHECK(weft::evaluate(product, view(columns, 2, 3).strided(1, 2), view(other, 3, 2)) == plain.values);
  CHECK(weft::evaluate(scale, std::vector<int>{1, 2}, 5) == std::vector<int>{5, 10});
}
TEST_CASE("evaluate with contract rounds a product and a sum once, without it twice") {
  // (1 + e)(1 - e) - 1 = -e e, which two roundings lose.
  std::array<float, 3> const a{1.0f + 0x1p-20f, 1, 0}, b{1.0f - 0x1p-20f, -1, 0};
  auto const x = view(a, 1, 2), y = view(b, 2, 1);
  auto const twice = weft::evaluate({.contract = false}, product, view(a, 1, 2), y);
  // As a sum in order: 0 + a0 b0, then + 1 * -1.
  auto const once = weft::evaluate({.contract = true}, product, x, y);
  CHECK(twice[0] == 0.0f);
  CHECK(once[0] == 0.0f);  // the first product is rounded into the sum either way
  std::array<float, 2> const p{-1, a[0]}, q{1, b[0]};
  CHECK(weft::evaluate({.contract = false}, product, view(p, 1, 2), view(q, 2, 1))[0] == 0.0f);
  CHECK(weft::evaluate({.contract = true}, product, view(p, 1, 2), view(q, 2, 1))[0] == -0x1p-40f);
}
TEST_CASE("a sample agrees with the whole, through stages") {
  std::vector<int> const x{5, -2, 9, 1};
  auto const whole = weft::evaluate(moments, x);
  for (std::int64_t i = 0; i < 4; ++i)
    CHECK(weft::evaluate_at(moments, std::array<std::int64_t, 1>{i}, x) ==
          whole[boost::hana::size_c<0>][static_cast<std::size_t>(i)]);
}
TEST_CASE("a sample of a long chain of windows visits each element once, not each way to it") {
  static constexpr auto chain = weft::kernel<"chain">([](auto x) {
    auto const n = x.extent(0);
    auto const next = [=](auto const& a) {
      return compute<"s">(n, [=](auto i) { return a(weft::max(i - 1, 0)) + a(i) + a(weft::min(i + 1, n - 1)); });
    };
    auto const four = [=](auto const& a) { return next(next(next(next(a)))); };
    return four(four(four(four(four(x)))));  // 3^20 ways
  });
  std::vector<std::int64_t> x(50);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<std::int64_t>(i * 7 % 5);
  auto const whole = weft::evaluate(chain, x);
  for (std::int64_t i : {0, 20, 49})
    CHECK(weft::evaluate_at(chain, std::array<std::int64_t, 1>{i}, x) == whole[static_cast<std::size_t>(i)]);
}
TEST_CASE("an access outside of its tensor is an argument_error") {
  static constexpr auto shifted = weft::kernel<"shifted">([](auto a) {
    return compute<"b">(a.extent(0), [=](auto i) { return a(i + 1); });
  });
  CHECK_THROWS_AS(weft::evaluate(shifted, std::vector<float>{1, 2}), weft::argument_error);
}
TEST_CASE("an evaluated result equals only a range of the same length and elements") {
  auto const y = weft::evaluate(scale, std::array{1.f, 2.f}, 3.f);
  CHECK(y == std::array{3.f, 6.f});
  CHECK_FALSE(y == std::array{3.f});
  CHECK_FALSE(y == std::array{3.f, 7.f});
}
