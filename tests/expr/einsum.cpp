#include "weft/expr/einsum.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "weft/weft.hpp"

namespace {
template <int Rank, class... Extent>
weft::tensor<float, Rank> numbers(int step, Extent... extents) {
  weft::tensor<float, Rank> t(extents...);
  for (std::int64_t i = 0, n = (extents * ... * 1); i < n; ++i) t.data()[i] = static_cast<float>(i * step % 13 - 6);
  return t;
}
}  // namespace

TEST_CASE("einsum of two tensors is what the loops say") {
  constexpr auto batched = weft::kernel<"batched">([](auto A, auto B) { return weft::einsum<"bij,bjk->bik">(A, B); });
  constexpr auto outer = weft::kernel<"outer">([](auto x, auto y) { return weft::einsum<"i, j -> ij", "outer">(x, y); });
  constexpr auto dot = weft::kernel<"dot">([](auto x, auto y) { return weft::einsum<"i,i->">(x, y); });
  auto const a = numbers<3>(5, 2, 3, 4), b = numbers<3>(7, 2, 4, 5);
  auto const c = batched(a, b);
  for (int n = 0; n < 2; ++n)
    for (int i = 0; i < 3; ++i)
      for (int k = 0; k < 5; ++k) {
        float sum = 0;
        for (int j = 0; j < 4; ++j) sum += a(n, i, j) * b(n, j, k);
        CHECK(c(n, i, k) == sum);  // small integers: exact in any order
      }
  auto const x = numbers<1>(3, 6), y = numbers<1>(5, 6);
  CHECK(outer(x, y)(2, 3) == x(2) * y(3));
  float sum = 0;
  for (int i = 0; i < 6; ++i) sum += x(i) * y(i);
  CHECK(dot(x, y)(0) == sum);
  CHECK_THROWS_AS(batched(a, numbers<3>(7, 2, 5, 5)), weft::argument_error);
}
TEST_CASE("an index of a stage has the extent that it has elsewhere, as of inputs") {
  auto const less = weft::kernel<"less">([](auto x, auto y) {
    auto s = weft::compute<"s">(y.extent(0), [=](auto i) { return y(i) + 1; });
    return weft::einsum<"i,i->">(x, s);
  });
  auto const own = weft::kernel<"own">([](auto x) {
    auto s = weft::compute<"s">(x.extent(0), [=](auto i) { return x(i) + 1; });
    return weft::einsum<"i,i->">(s, s);
  });
  auto const said = [&](std::int64_t n, std::int64_t m) {
    try {
      less(numbers<1>(3, n), numbers<1>(5, m));
    } catch (weft::argument_error const& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  CHECK(said(3, 3) == "");
  CHECK(said(3, 5).find("less: needs ") == 0);
  CHECK(said(5, 3).find("less: needs ") == 0);
  CHECK(own(numbers<1>(3, 2))(0) == 25 + 4);  // of -6 and -3
}
TEST_CASE("einsum of one tensor picks, transposes and sums") {
  constexpr auto diagonal = weft::kernel<"diagonal">([](auto A) { return weft::einsum<"ii->i">(A); });
  constexpr auto transposed = weft::kernel<"transposed">([](auto A) { return weft::einsum<"ij->ji">(A); });
  constexpr auto rows = weft::kernel<"rows">([](auto A) { return weft::einsum<"ij->i">(A); });
  auto const a = numbers<2>(5, 4, 4);
  CHECK(diagonal(a)(2) == a(2, 2));
  CHECK(transposed(a)(3, 1) == a(1, 3));
  CHECK(rows(a)(1) == a(1, 0) + a(1, 1) + a(1, 2) + a(1, 3));
}
TEST_CASE("einsum of three tensors") {
  constexpr auto form = weft::kernel<"form">([](auto x, auto A, auto y) { return weft::einsum<"i,ij,j->">(x, A, y); });
  auto const x = numbers<1>(3, 3), y = numbers<1>(5, 4);
  auto const a = numbers<2>(7, 3, 4);
  float sum = 0;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 4; ++j) sum += x(i) * a(i, j) * y(j);
  CHECK(form(x, a, y)(0) == sum);
}
