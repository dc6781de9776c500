#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "weft/intrinsics.hpp"
#include "weft/weft.hpp"

namespace {
/// A of M x K, B of K / Terms x N x Terms.
template <int Terms>
constexpr auto packed_product = [](auto A, auto B) {
  return weft::compute<"C">(A.extent(0), B.extent(1), [=](auto i, auto j) {
    return weft::sum(A.extent(1), [=](auto k) { return A(i, k) * B(k / Terms, j, k % Terms); });
  });
};
template <int Terms, int Columns, weft::intrinsic const& By>
constexpr auto tiled = weft::kernel<"product">(packed_product<Terms>, [](auto& s, auto, auto, auto C) {
  auto [i, j, k] = C.axes();
  auto [io, ii] = s.split(i, 2);
  auto [jo, ji] = s.split(j, Columns);
  auto [ko, ki] = s.split(k, Terms);
  s.reorder(io, jo, ko, ii, ji, ki);
  s.unroll(ii);
  s.vectorize(ji);
  s.tensorize(ki, By);
});
template <class T>
std::vector<T> numbers(std::size_t n, std::uint64_t seed) {
  std::vector<T> all(n);
  for (T& x : all) x = static_cast<T>((seed = seed * 6364136223846793005u + 1442695040888963407u) >> 40);
  return all;
}
}  // namespace

TEST_CASE("tensorize: a product of i16 by pmaddwd") {
  auto const a = numbers<std::int16_t>(7 * 12, 1), b = numbers<std::int16_t>(6 * 24 * 2, 2);
  auto const A = weft::view(a, 7, 12);
  auto const B = weft::view(b, 6, 24, 2);
  auto const k = tiled<2, 16, weft::pmaddwd>.on(weft::x86_64_avx2());
  MESSAGE(k.loops(A, B));
  MESSAGE(k.trace(A, B));
  MESSAGE(k.ir(A, B));
  MESSAGE(k.assembly(A, B));
  auto const c = tiled<2, 16, weft::pmaddwd>(A, B);
  auto const d = weft::evaluate(tiled<2, 16, weft::pmaddwd>, A, B);
  for (int i = 0; i < 7; ++i)
    for (int j = 0; j < 24; ++j) CHECK(c(i, j) == d.values[static_cast<std::size_t>(i * 24 + j)]);
}
