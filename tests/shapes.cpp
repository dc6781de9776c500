#include "weft/shapes.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "support/private_cache.hpp"
#include "weft/dim.hpp"
#include "weft/direct.hpp"
#include "weft/expr/math/functions.hpp"

using weft::compute, weft::sum, weft::view, weft::out;

namespace {

constexpr auto product = [](auto A, auto B) {
  auto M = A.extent(0), K = A.extent(1), N = B.extent(1);
  return compute<"C">(M, N, [=](auto i, auto j) { return sum(K, [=](auto k) { return A(i, k) * B(k, j); }); });
};
constexpr auto tiles = [](auto& s, auto, auto, auto C) {
  auto [i, j, k] = C.axes();
  auto [jo, ji] = s.split(j, 16);
  auto [io, ii] = s.split(i, 4);
  s.reorder(io, jo, k, ii, ji);
  s.unroll(ii);
  s.vectorize(ji);
};
constexpr auto add_two = [](auto x, auto y) { return compute<"z">(x.extent(0), [=](auto i) { return x(i) + y(i); }); };

std::vector<float> numbers(std::int64_t n, int step = 5) {
  std::vector<float> v(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = static_cast<float>(static_cast<int>(i) * step % 13 - 6) / 4;
  return v;
}
/// Whether a product of these sizes has the elements that it should have; all are sums of few bits.
template <class Kernel>
bool multiplies(Kernel const& kernel, std::int64_t m, std::int64_t k, std::int64_t n) {
  std::vector<float> const a = numbers(m * k), b = numbers(k * n, 7);
  std::vector<float> c(static_cast<std::size_t>(m * n), -1.0f);
  kernel(view(a, m, k), view(b, k, n), out(c, m, n));
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      float want = 0;
      for (std::int64_t l = 0; l < k; ++l)
        want += a[static_cast<std::size_t>(i * k + l)] * b[static_cast<std::size_t>(l * n + j)];
      if (c[static_cast<std::size_t>(i * n + j)] != want) return false;
    }
  return true;
}
template <class F>
std::uint64_t compiled_by(F const& f) {
  std::uint64_t const before = weft::compilations();
  f();
  return weft::compilations() - before;
}
template <class Kernel>
std::string forms_of(Kernel const& kernel) {
  float x[1] = {};
  return weft::forms(kernel, view(x, 1, 1), view(x, 1, 1), out(x, 1, 1));
}

}  // namespace

TEST_CASE("after so many shapes one form serves those that follow") {
  auto const matmul = weft::kernel<"matmul">(product, tiles).with({.exact_shapes = 3});
  CHECK(compiled_by([&] {
          for (std::int64_t m : {3, 4, 7, 3, 7}) CHECK(multiplies(matmul, m, 24, 40));
        }) == 3);
  CHECK(compiled_by([&] {
          for (std::int64_t m : {5, 2, 16, 11, 4, 13, 6}) CHECK(multiplies(matmul, m, 24, 40));
        }) == 1);
  CHECK(forms_of(matmul) ==
        "3 for one shape each:\n"
        "  A 3 x 24, B 24 x 40, C 3 x 40\n"
        "  A 4 x 24, B 24 x 40, C 4 x 40\n"
        "  A 7 x 24, B 24 x 40, C 7 x 40\n"
        "1 for many shapes:\n"
        "  A A0 x 24, B 24 x 40, C ? x 40; A0 in 2..16\n");
}
TEST_CASE("by rule, open sizes of each range") {
  auto const matmul = weft::kernel<"matmul">(product).with({.exact_shapes = 1});
  CHECK(multiplies(matmul, 33, 65, 70));
  for (std::int64_t m : {2, 5, 8, 15, 16, 17, 40, 128, 129, 200})
    for (std::int64_t k : {2, 64, 131})
      for (std::int64_t n : {3, 16, 64, 130}) CHECK(multiplies(matmul, m, k, n));
  MESSAGE(forms_of(matmul));
}
