#include "weft/expr/broadcast.hpp"

#include "ops/check.hpp"
#include "weft/expr/print.hpp"

using namespace weft_test;

namespace {
constexpr auto sum3 = weft::kernel<"sum3">([](auto A, auto B, auto C) {
  return weft::elementwise<"S">([](auto a, auto b, auto c) { return a + 2 * b + 4 * c; }, A, B, C);
});
constexpr auto plus = weft::kernel<"plus">(
    [](auto A, auto B) { return weft::elementwise<"S">([](auto a, auto b) { return a + b; }, A, B); });
static_assert(weft::checked<plus, weft::arg<float, 1>, weft::arg<float, 3>>);
}  // namespace

TEST_CASE("shapes stand below each other from the last dimension on, and an extent of 1 repeats") {
  auto const a = drawn<float>(1, 3, 1);
  auto const b = drawn<float>(2, 4);
  auto const c = drawn<float>(3, 2, 1, 4);
  check_op(
      sum3, shape_t<3>{2, 3, 4}, 0, [&](long i, long j, long k) { return a(j, 0) + 2 * b(k) + 4 * c(i, 0, k); }, a, b,
      c);
  auto const one = drawn<float>(4, 1);
  check_op(sum3, shape_t<2>{3, 1}, 0, [&](long j, long) { return a(j, 0) + 2 * one(0) + 4 * a(j, 0); }, a, one, a);
}
TEST_CASE("an extent of 0 meets 1 and 0") {
  auto const none = drawn<float>(1, 0), one = drawn<float>(2, 1), two = drawn<float>(3, 2);
  check_op(plus, shape_t<1>{0}, 0, [](long) { return 0; }, none, one);
  check_op(plus, shape_t<1>{0}, 0, [](long) { return 0; }, one, none);
  check_op(plus, shape_t<1>{0}, 0, [](long) { return 0; }, none, none);
  CHECK(refusal_of([&] { plus(none, two); }) != "");
}
TEST_CASE("extents that differ and are not 1 are refused before anything runs, whichever is larger") {
  auto const two = drawn<float>(1, 2), three = drawn<float>(2, 3);
  CHECK(refusal_of([&] { plus(two, three); }) ==
        "plus: needs A.extent(0) == B.extent(0) || A.extent(0) == 1 || B.extent(0) == 1, but A.extent(0) = 2, "
        "B.extent(0) "
        "= 3");
  CHECK(refusal_of([&] { plus(three, two); }) != "");
  CHECK_THROWS_AS(weft::evaluate(plus, two, three), weft::argument_error);
  // Three meet in the shape that the first two have.
  CHECK(refusal_of([&] { sum3(drawn<float>(1, 1), three, two); }).find("C.extent(0)") != std::string::npos);
}
TEST_CASE("what is not broadcast is the plain loop, and goes in place") {
  auto a = drawn<float>(1, 5);
  auto const before = drawn<float>(1, 5), one = drawn<float>(2, 1);
  auto const plain = plus.with({.plain = true});
  CHECK(plain.ir(a, a).find("S[i] = A[i] + B[i]") != std::string::npos);
  CHECK(plain.ir(a, one).find("S[i] = A[i] + B[0]") != std::string::npos);
  plus(a, one, weft::out(a));
  for (int i = 0; i < 5; ++i) CHECK(a(i) == before(i) + one(0));
  auto single = drawn<float>(3, 1);
  auto const was = single(0);
  plus(single, one, weft::out(single));
  CHECK(single(0) == was + one(0));
  auto shared = drawn<float>(4, 1);  // one element for all: read after the first was written
  CHECK(refusal_of([&] { plus(before, weft::view(shared.data(), 1), weft::out(shared.data(), 5)); }) != "");
}
TEST_CASE("stages of one shape need no question") {
  constexpr auto twice = weft::kernel<"twice">([](auto A) {
    auto const B = weft::elementwise<"B">([](auto a) { return a * a; }, A);
    return weft::elementwise<"C">([](auto a, auto b, auto n) { return a + b * n; }, A, B, 3);
  });
  auto const a = drawn<float>(1, 3, 5);
  check_op(twice, shape_t<2>{3, 5}, 0, [&](long i, long j) { return a(i, j) + 3 * a(i, j) * a(i, j); }, a);
  using types = decltype(twice)::types_for<weft::tensor<float, 2>>;
  CHECK(weft::print(types::program_of(types::pair{twice.what, twice.how})).find("require") == std::string::npos);
}
TEST_CASE("require is a line of the program's text, and is read back") {
  using types = decltype(plus)::types_for<weft::tensor<float, 1>, weft::tensor<float, 1>>;
  weft::program const p = types::program_of(types::pair{plus.what, plus.how});
  std::string const text = weft::print(p);
  CHECK(text.find("  require %") == std::string::npos);
  CHECK(text.find("\nrequire %") != std::string::npos);
  CHECK(weft::digest(weft::parse_program(text)) == weft::digest(p));
  CHECK(weft::print(weft::parse_program(text)) == text);
  CHECK_THROWS_AS(weft::parse_program("program\ninput A f32\n  %0 = extent i64 A 0\n  shape %0\nrequire %0\n"),
                  weft::parse_error);
}
TEST_CASE("require asks about extents alone") {
  constexpr auto asks = weft::kernel<"asks">([](auto A, auto n) {
    weft::require(A.extent(0) % 2 == 0 && A.extent(0) <= 8);
    weft::require(n > 0);
    return weft::compute<"B">(A.extent(0), [=](auto i) { return A(i); });
  });
  CHECK(refusal_of([&] { asks(drawn<float>(1, 3), 1); }) ==
        "asks: needs A.extent(0) % 2 == 0 && A.extent(0) <= 8, but A.extent(0) = 3");
  CHECK(refusal_of([&] { asks(drawn<float>(1, 4), 1); }) ==
        "asks: weft::require takes a condition on extents alone, and 0 < s0 asks for more");
}
