#include "weft/ops/reshape.hpp"

#include "ops/check.hpp"
#include "weft/ops/scan.hpp"

using namespace weft_test;
namespace ops = weft::ops;

TEST_CASE("permute and transpose put each element at its place") {
  constexpr auto permute = weft::kernel<"permute">([](auto x) { return ops::permute(x, {{2, 0, 1}}); });
  constexpr auto transpose = weft::kernel<"transpose">(ops::transpose);
  auto const x = drawn<float>(1, 2, 3, 5);
  check_op(permute, shape_t<3>{5, 2, 3}, 0, [&](long a, long b, long c) { return x(b, c, a); }, x);
  check_op(transpose, shape_t<3>{2, 5, 3}, 0, [&](long a, long b, long c) { return x(a, c, b); }, x);
  constexpr auto twice = weft::kernel<"twice">([](auto a) { return ops::permute(a, {{0, 0, 1}}); });
  CHECK(refusal_of([&] { twice(x); }).find("stands twice") != std::string::npos);
}
TEST_CASE("concat along any axis, of tensors that may be empty; others must fit") {
  constexpr auto last = weft::kernel<"last">(ops::concat);
  constexpr auto first = weft::kernel<"first">([](auto a, auto b) { return ops::concat(a, b, {.axis = 0}); });
  constexpr auto three = weft::kernel<"three">([](auto a, auto b) { return ops::concat(ops::concat(a, b), a); });
  auto const a = drawn<float>(1, 2, 3), b = drawn<float>(2, 2, 5), c = drawn<float>(3, 7, 3),
             none = drawn<float>(4, 2, 0);
  check_op(last, shape_t<2>{2, 8}, 0, [&](long i, long j) { return j < 3 ? a(i, j) : b(i, j - 3); }, a, b);
  check_op(first, shape_t<2>{9, 3}, 0, [&](long i, long j) { return i < 2 ? a(i, j) : c(i - 2, j); }, a, c);
  check_op(last, shape_t<2>{2, 3}, 0, [&](long i, long j) { return a(i, j); }, none, a);
  check_op(
      three, shape_t<2>{2, 11}, 0, [&](long i, long j) { return j < 3   ? a(i, j)
                                                                : j < 8 ? b(i, j - 3)
                                                                        : a(i, j - 8); },
      a, b);
  CHECK(refusal_of([&] { last(a, c); }) ==
        "last: needs A.extent(0) == B.extent(0), but A.extent(0) = 2, B.extent(0) = 7");
}
TEST_CASE("slice as NumPy cuts, and flip") {
  constexpr auto cut =
      weft::kernel<"cut">([](auto x) { return ops::slice(x, {.begin = {1, -4}, .end = {-1, 100}, .step = {2, 3}}); });
  constexpr auto flip = weft::kernel<"flip">([](auto x) { return ops::flip(x, {.axis = 0}); });
  for (long m : {1, 2, 6, 7})
    for (long n : {1, 3, 4, 9}) {
      auto const x = drawn<float>(1, m, n);
      long const rows = m <= 2 ? 0 : (m - 2 + 1) / 2, from = n < 4 ? 0 : n - 4, columns = (n - from + 2) / 3;
      check_op(cut, shape_t<2>{rows, columns}, 0, [&](long i, long j) { return x(1 + 2 * i, from + 3 * j); }, x);
      check_op(flip, shape_t<2>{m, n}, 0, [&](long i, long j) { return x(m - 1 - i, j); }, x);
    }
}
TEST_CASE("pad in each mode, wider than the tensor too") {
  constexpr auto constant =
      weft::kernel<"constant">([](auto x) { return ops::pad(x, {.before = {1, 2}, .after = {0, 3}, .value = 7}); });
  constexpr auto edge = weft::kernel<"edge">(
      [](auto x) { return ops::pad(x, {.before = {1, 2}, .after = {0, 3}, .mode = ops::pad_mode::edge}); });
  constexpr auto reflect = weft::kernel<"reflect">(
      [](auto x) { return ops::pad(x, {.before = {1, 2}, .after = {0, 3}, .mode = ops::pad_mode::reflect}); });
  auto const x = drawn<float>(1, 2, 3);
  auto const inside = [&](long i, long j) { return i >= 1 && j >= 2 && j < 5; };
  auto const clamped = [](long v, long n) { return v < 0 ? 0 : v >= n ? n - 1 : v; };
  check_op(constant, shape_t<2>{3, 8}, 0, [&](long i, long j) { return inside(i, j) ? x(i - 1, j - 2) : 7; }, x);
  check_op(edge, shape_t<2>{3, 8}, 0, [&](long i, long j) { return x(clamped(i - 1, 2), clamped(j - 2, 3)); }, x);
  long const columns[] = {2, 1, 0, 1, 2, 1, 0, 1};
  check_op(reflect, shape_t<2>{3, 8}, 0, [&](long i, long j) { return x(i == 0 ? 1 : i - 1, columns[j]); }, x);
}
TEST_CASE("take and gather read where they are told, within the tensor") {
  constexpr auto rows = weft::kernel<"rows">(ops::take);
  constexpr auto columns = weft::kernel<"columns">([](auto x, auto i) { return ops::take(x, i, {.axis = -1}); });
  constexpr auto gather = weft::kernel<"gather">(ops::gather);
  constexpr auto down = weft::kernel<"down">([](auto x, auto i) { return ops::gather(x, i, {.axis = 0}); });
  auto const x = drawn<float>(1, 5, 7);
  auto const which = drawn<std::int32_t>(2, 2, 3);
  auto const deep = drawn<std::int64_t>(3, 4, 7);
  auto const near = [](long at, long n) { return at < 0 ? 0 : at >= n ? n - 1 : at; };
  check_op(rows, shape_t<3>{2, 3, 7}, 0, [&](long a, long b, long j) { return x(near(which(a, b), 5), j); }, x, which);
  check_op(
      columns, shape_t<3>{5, 2, 3}, 0, [&](long i, long a, long b) { return x(i, near(which(a, b), 7)); }, x, which);
  auto const pair = drawn<float>(4, 2, 7);
  check_op(gather, shape_t<2>{2, 3}, 0, [&](long i, long j) { return pair(i, near(which(i, j), 7)); }, pair, which);
  check_op(down, shape_t<2>{4, 7}, 0, [&](long i, long j) { return x(near(deep(i, j), 5), j); }, x, deep);
  CHECK(refusal_of([&] { gather(x, which); }) ==
        "gather: needs A.extent(0) == B.extent(0), but A.extent(0) = 5, B.extent(0) = 2");
}
TEST_CASE("prefix sums, products and maxima, forwards and backwards, with the element and without") {
  constexpr auto sums = weft::kernel<"sums">(ops::cumsum);
  constexpr auto before = weft::kernel<"before">([](auto x) { return ops::cumsum(x, {.axis = 0, .exclusive = true}); });
  constexpr auto back =
      weft::kernel<"back">([](auto x) { return ops::cumsum(x, {.exclusive = true, .reverse = true}); });
  constexpr auto products = weft::kernel<"products">(ops::cumprod);
  constexpr auto largest = weft::kernel<"largest">([](auto x) { return ops::cummax(x, {.reverse = true}); });
  constexpr auto smallest = weft::kernel<"smallest">(ops::cummin);
  auto const x = drawn<float>(1, 3, 7);
  auto const over = [](auto const& at, long from, long to, double start, auto const& combine) {
    for (long k = from; k < to; ++k) start = combine(start, static_cast<double>(at(k)));
    return start;
  };
  auto const plus = [](double a, double b) { return a + b; };
  auto const row = [&](long i) { return [&x, i](long k) { return x(i, k); }; };
  check_op(sums, shape_t<2>{3, 7}, 0, [&](long i, long j) { return over(row(i), 0, j + 1, 0, plus); }, x);
  check_op(back, shape_t<2>{3, 7}, 0, [&](long i, long j) { return over(row(i), j + 1, 7, 0, plus); }, x);
  check_op(
      before, shape_t<2>{3, 7}, 0, [&](long i, long j) { return over([&](long k) { return x(k, j); }, 0, i, 0, plus); },
      x);
  check_op(
      products, shape_t<2>{3, 7}, 0,
      [&](long i, long j) { return over(row(i), 0, j + 1, 1, [](double a, double b) { return a * b; }); }, x);
  check_op(
      smallest, shape_t<2>{3, 7}, 0,
      [&](long i, long j) {
        return over(row(i), 0, j + 1, INFINITY, [](double a, double b) { return std::fmin(a, b); });
      },
      x);
  check_op(
      largest, shape_t<2>{3, 7}, 0,
      [&](long i, long j) { return over(row(i), j, 7, -INFINITY, [](double a, double b) { return std::fmax(a, b); }); },
      x);
}
TEST_CASE("the triangles of a matrix, and of a batch of them") {
  constexpr auto lower = weft::kernel<"lower">([](auto x) { return ops::tril(x, {.diagonal = 1}); });
  constexpr auto upper = weft::kernel<"upper">(ops::triu);
  auto const x = drawn<float>(1, 2, 4, 5);
  check_op(lower, shape_t<3>{2, 4, 5}, 0, [&](long b, long i, long j) { return j <= i + 1 ? x(b, i, j) : 0; }, x);
  check_op(upper, shape_t<3>{2, 4, 5}, 0, [&](long b, long i, long j) { return j >= i ? x(b, i, j) : 0; }, x);
}
TEST_CASE("pad fills with a number that the elements have") {
  weft::tensor<std::uint8_t, 1> x(2);
  x(0) = 1, x(1) = 2;
  auto const pad_by = [](double value) {
    return weft::kernel<"padded">([value](auto a) { return ops::pad(a, {.before = {1}, .value = value}); });
  };
  CHECK(pad_by(255)(x)(0) == 255);
  CHECK_THROWS_AS(pad_by(300)(x), weft::argument_error);
  CHECK_THROWS_AS(pad_by(-1)(x), weft::argument_error);
  CHECK_THROWS_AS(pad_by(0.5)(x), weft::argument_error);
}
