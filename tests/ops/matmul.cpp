#include "weft/ops/matmul.hpp"

#include "ops/check.hpp"

using namespace weft_test;
namespace ops = weft::ops;

namespace {
constexpr auto nn = weft::kernel<"nn">(ops::matmul);
constexpr auto tn = weft::kernel<"tn">([](auto a, auto b) { return ops::matmul(a, b, {.transpose_a = true}); });
constexpr auto nt = weft::kernel<"nt">([](auto a, auto b) { return ops::matmul(a, b, {.transpose_b = true}); });
constexpr auto tt =
    weft::kernel<"tt">([](auto a, auto b) { return ops::matmul(a, b, {.transpose_a = true, .transpose_b = true}); });
static_assert(weft::checked<nn, weft::arg<float, 2>, weft::arg<float, 2>>);
static_assert(weft::checked<tt, weft::arg<float, 3>, weft::arg<float, 2>>);
}  // namespace

TEST_CASE("matmul in all transpositions is the triple loop") {
  for (std::array<long, 3> const& size : {std::array<long, 3>{1, 1, 1}, {3, 5, 7}, {2, 0, 3}, {13, 17, 19}}) {
    long const m = size[0], k = size[1], n = size[2];
    auto const a = drawn<float>(1, m, k), b = drawn<float>(2, k, n);
    auto const at = drawn<float>(3, k, m), bt = drawn<float>(4, n, k);
    auto const product = [k](auto const& x, auto const& y) {
      return [&x, &y, k](long i, long j) {
        double s = 0;
        for (long p = 0; p < k; ++p) s += x(i, p) * y(p, j);
        return s;
      };
    };
    auto const flip = [](auto const& x) { return [&x](long i, long j) { return double(x(j, i)); }; };
    auto const fa = [&](long i, long j) { return double(a(i, j)); };
    auto const fb = [&](long i, long j) { return double(b(i, j)); };
    check_op(nn, shape_t<2>{m, n}, 0, product(fa, fb), a, b);
    check_op(tn, shape_t<2>{m, n}, 0, product(flip(at), fb), at, b);
    check_op(nt, shape_t<2>{m, n}, 0, product(fa, flip(bt)), a, bt);
    check_op(tt, shape_t<2>{m, n}, 0, product(flip(at), flip(bt)), at, bt);
  }
}
TEST_CASE("batches of matrices are broadcast") {
  auto const a = drawn<float>(1, 2, 1, 3, 5);
  auto const b = drawn<float>(2, 4, 5, 2);
  check_op(
      nn, shape_t<4>{2, 4, 3, 2}, 0,
      [&](long p, long q, long i, long j) {
        double s = 0;
        for (long k = 0; k < 5; ++k) s += a(p, 0, i, k) * b(q, k, j);
        return s;
      },
      a, b);
  CHECK(refusal_of([&] { nn(a, drawn<float>(2, 4, 6, 2)); }) ==
        "nn: needs A.extent(3) == B.extent(1), but A.extent(3) = 5, B.extent(1) = 6");
  CHECK(refusal_of([&] { nn(drawn<float>(1, 3, 3, 5), b); }).find("A.extent(0) == B.extent(0) || A.extent(0) == 1") !=
        std::string::npos);
}
TEST_CASE("products of bytes are added as ints, of halves as floats") {
  auto const a = drawn<std::int8_t>(1, 3, 7), b = drawn<std::int8_t>(2, 7, 2);
  static_assert(std::is_same_v<decltype(nn(a, b)), weft::tensor<int, 2>>);
  check_op(
      nn, shape_t<2>{3, 2}, 0,
      [&](long i, long j) {
        int s = 0;
        for (long k = 0; k < 7; ++k) s += a(i, k) * b(k, j);
        return s;
      },
      a, b);
  auto const x = drawn<weft::f16>(1, 3, 7), y = drawn<weft::f16>(2, 7, 2);
  static_assert(std::is_same_v<decltype(nn(x, y)), weft::tensor<float, 2>>);
  check_op(
      nn, shape_t<2>{3, 2}, 0,
      [&](long i, long j) {
        float s = 0;
        for (long k = 0; k < 7; ++k) s += float(x(i, k)) * float(y(k, j));
        return s;
      },
      x, y);
}
TEST_CASE("matrices with vectors, and vectors with each other") {
  constexpr auto matvec = weft::kernel<"matvec">(ops::matvec);
  constexpr auto vecmat = weft::kernel<"vecmat">(ops::vecmat);
  constexpr auto outer = weft::kernel<"outer">(ops::outer);
  constexpr auto dot = weft::kernel<"dot">(ops::dot);
  auto const a = drawn<double>(1, 5, 11);
  auto const x = drawn<double>(2, 11), y = drawn<double>(3, 5);
  check_op(
      matvec, shape_t<1>{5}, 0,
      [&](long i) {
        double s = 0;
        for (long k = 0; k < 11; ++k) s += a(i, k) * x(k);
        return s;
      },
      a, x);
  check_op(
      vecmat, shape_t<1>{11}, 0,
      [&](long j) {
        double s = 0;
        for (long k = 0; k < 5; ++k) s += y(k) * a(k, j);
        return s;
      },
      y, a);
  check_op(outer, shape_t<2>{11, 5}, 0, [&](long i, long j) { return x(i) * y(j); }, x, y);
  check_op(
      dot, shape_t<1>{1}, 0,
      [&](long) {
        double s = 0;
        for (long k = 0; k < 11; ++k) s += x(k) * x(k);
        return s;
      },
      x, x);
}
TEST_CASE("linear is x W^T with a bias or without") {
  constexpr auto plain = weft::kernel<"plain">([](auto x, auto w) { return ops::linear(x, w); });
  constexpr auto biased = weft::kernel<"biased">([](auto x, auto w, auto b) { return ops::linear(x, w, b); });
  auto const x = drawn<float>(1, 2, 3, 7);
  auto const w = drawn<float>(2, 5, 7);
  auto const b = drawn<float>(3, 5);
  auto const product = [&](long p, long q, long j) {
    double s = 0;
    for (long k = 0; k < 7; ++k) s += x(p, q, k) * w(j, k);
    return s;
  };
  check_op(plain, shape_t<3>{2, 3, 5}, 0, product, x, w);
  check_op(biased, shape_t<3>{2, 3, 5}, 0, [&](long p, long q, long j) { return product(p, q, j) + b(j); }, x, w, b);
  CHECK(refusal_of([&] { biased(x, w, drawn<float>(3, 4)); }).find("B.extent(0) == C.extent(0)") != std::string::npos);
}
