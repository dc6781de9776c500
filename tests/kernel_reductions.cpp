// Reductions in parts: what they compute, and how near to the truth.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "support/kernels.hpp"
#include "weft/debug.hpp"
#include "weft/dim.hpp"
#include "weft/direct.hpp"
#include "weft/expr/math/functions.hpp"

using namespace weft_test;
using weft::out, weft::view;

namespace {
using sizes = std::vector<std::size_t>;

constexpr auto product_sum = [](auto a, auto b) {
  return compute<"d">(1, [=](auto) { return sum(a.extent(0), [=](auto k) { return a(k) * b(k); }); });
};
/// 64 parts: the lanes of several vectors.
inline constexpr auto dot = weft::kernel<"dot">(product_sum, [](auto& s, auto, auto, auto d) {
  auto [i, k] = d.axes();
  auto [parts, v] = s.rfactor(d, k, 64);
  auto [pi, pv, pu] = parts.axes();
  s.reorder(pu, pv);
  s.vectorize(pv);
});
/// Two threads, of eight lanes each.
inline constexpr auto parallel_dot = weft::kernel<"parallel_dot">(product_sum, [](auto& s, auto, auto, auto d) {
  auto [i, k] = d.axes();
  auto [parts, v] = s.rfactor(d, k, 2, weft::chunks);
  auto [pi, pv, pu] = parts.axes();
  auto [lanes, w] = s.rfactor(parts, pu, 8);
  auto [li, lv, lw, lu] = lanes.axes();
  s.reorder(pv, pi);
  s.parallel(pv);
  s.compute_at(lanes, pv);
  s.reorder(lu, lw);
  s.vectorize(lw);
});
}  // namespace

TEST_CASE("a sum in parts is exact where all sums are, whatever the tails") {
  for (std::size_t n : sizes{0, 1, 2, 7, 8, 63, 64, 65, 127, 128, 1000, 4099}) {
    std::vector<float> const a = numbers(n), b = numbers(n, 7);
    auto const plain = weft::evaluate(dot, view(a, n), view(b, n));
    CHECK(dot(view(a, n), view(b, n))(0) == plain[0]);
    CHECK(parallel_dot(view(a, n), view(b, n))(0) == plain[0]);
  }
}
TEST_CASE("a sum in parts is as near to the true sum as any order of it") {
  for (std::size_t n : sizes{5, 64, 1001, 40000}) {
    std::vector<float> a(n), b(n);
    double exact = 0, size = 0;
    for (std::size_t i = 0; i < n; ++i) {
      a[i] = std::sin(static_cast<float>(i) * 1.7f) * 3, b[i] = std::cos(static_cast<float>(i) * 0.3f);
      exact += static_cast<double>(a[i]) * static_cast<double>(b[i]);
      size += std::abs(static_cast<double>(a[i]) * static_cast<double>(b[i]));
    }
    // Higham, Accuracy and Stability, 4.2: each term is rounded n times at most, and once more as a product.
    double const unit = 0x1p-24 * static_cast<double>(n + 1), bound = unit / (1 - unit) * size;
    CHECK(std::abs(static_cast<double>(dot(view(a, n), view(b, n))(0)) - exact) <= bound);
    CHECK(std::abs(static_cast<double>(parallel_dot(view(a, n), view(b, n))(0)) - exact) <= bound);
  }
}
TEST_CASE("an online softmax in parts is as near as one that takes its terms one by one") {
  static constexpr auto what = [](auto a) {
    auto merge = weft::any_order([](auto x, auto y) {
      auto high = weft::max(weft::get<0>(x), weft::get<0>(y));
      return weft::values(high, weft::get<1>(x) * weft::exp(weft::get<0>(x) - high) +
                                    weft::get<1>(y) * weft::exp(weft::get<0>(y) - high));
    });
    auto r = compute<"high", "sum">(1, [=](auto) {
      return weft::reduce(weft::values(-1e30f, 0.0f), merge, a.extent(0),
                          [=](auto k) { return weft::values(a(k), weft::cast<float>(k * 0 + 1)); });
    });
    return weft::outputs(weft::get<0>(r), weft::get<1>(r));
  };
  static constexpr auto in_parts = weft::kernel<"online_softmax">(what, [](auto& s, auto, auto r) {
    auto [i, k] = r.axes();
    auto [parts, v] = s.rfactor(r, k, 16);
    auto [pi, pv, pu] = parts.axes();
    s.reorder(pu, pv);
    s.vectorize(pv);
  });
  for (std::size_t n : sizes{1, 15, 16, 1003}) {
    std::vector<float> a(n);
    double exact = 0;
    for (std::size_t i = 0; i < n; ++i) a[i] = std::sin(static_cast<float>(i) * 1.7f) * 20;
    float const high = *std::max_element(a.begin(), a.end());
    for (float x : a) exact += std::exp(static_cast<double>(x) - static_cast<double>(high));
    std::vector<float> m(1), sum(1);
    in_parts(view(a, n), out(m, 1), out(sum, 1));
    CHECK(m[0] == high);
    // Each term is rescaled n times at most, by an exp within 2 ulp of an argument that is rounded (at most 40), and added.
    double const unit = 0x1p-24 * static_cast<double>(n) * (4 + 40 + 2);
    CHECK(std::abs(static_cast<double>(sum[0]) - exact) <= unit / (1 - unit) * exact);
  }
}
TEST_CASE("a sum in parts adds vectors, and keeps them in registers") {
  std::vector<float> const a(4096), b(4096);
  std::string const code = dot.on(weft::x86_64_avx2()).assembly(view(a, 4096), view(b, 4096));
  std::size_t const loop = code.find("vfmadd"), end = code.find("\tj", loop);
  REQUIRE(end < code.size());
  std::string const inner = code.substr(loop, end - loop);
  CHECK(inner.find("%ymm") != std::string::npos);
  CHECK(inner.find("(%rsp)") == std::string::npos);
  CHECK(inner.find("vmaskmov") == std::string::npos);
  std::size_t count = 0;
  for (std::size_t at = 0; (at = inner.find("vfmadd", at)) != std::string::npos; ++at) ++count;
  CHECK(count == 8);
}

namespace {
/// n(i, j) is the same for all j, and stored once; y reads it at `At`.
template <int At>
constexpr auto count_at = weft::kernel<"count_at">([](auto S, auto V) {
  auto const both = compute<"n", "s">(S.extent(0), V.extent(1), [=](auto i, auto j) {
    auto const step = [](auto a, auto b) {
      auto const [n, s] = a;
      auto const [x, v] = b;
      return weft::values(n + x, s + n * v);
    };
    return weft::reduce(weft::values(0.f, 0.f), step, S.extent(1), [=](auto k) { return weft::values(S(i, k), V(k, j)); });
  });
  auto const n = weft::get<0>(both), s = weft::get<1>(both);
  auto const T = compute<"T">(S.extent(0), [=](auto i) { return sum(V.extent(1), [=](auto j) { return s(i, j); }); });
  return compute<"y">(S.extent(0), [=](auto i) { return n(i, At) + T(i); });
});
}  // namespace
TEST_CASE("a result that is stored once along an axis has that axis' elements and no others") {
  std::vector<float> const s(3 * 4, 1.f), v(4 * 2, 2.f);
  std::vector<float> y(3);
  count_at<1>(view(s, 3, 4), view(v, 4, 2), out(y, 3));
  auto const wanted = weft::evaluate(count_at<1>, view(s, 3, 4), view(v, 4, 2));
  for (std::size_t i = 0; i < 3; ++i) CHECK(y[i] == wanted[i]);
  CHECK_THROWS_AS(count_at<2>(view(s, 3, 4), view(v, 4, 2), out(y, 3)), weft::argument_error);
  CHECK_THROWS_AS(count_at<2>(view(s, weft::dim<"m">(3), 4), view(v, 4, weft::dim<"d">(2)), out(y, 3)), weft::argument_error);
  CHECK_THROWS_AS(count_at<2>.with({.checked = true})(view(s, 3, 4), view(v, 4, 2), out(y, 3)), weft::access_error);
  CHECK_THROWS_AS(count_at<0>(view(s, 3, 4), view(v, 4, 0), out(y, 3)), weft::argument_error);
}
TEST_CASE("a sum whose first terms are left out begins with zeros all the same, in registers and in memory") {
  constexpr auto what = [](auto a) {
    return compute<"c">(a.extent(1), [=](auto j) { return sum(a.extent(0), [=](auto k) { return weft::where(k >= 1, a(k, j)); }); });
  };
  constexpr auto by_terms = weft::kernel<"by_terms">(what, [](auto& s, auto, auto C) {
    auto [j, k] = C.axes();
    auto [jo, ji] = s.split(j, 8);
    s.reorder(k, jo, ji);
    s.vectorize(ji);
  });
  constexpr auto by_vectors = weft::kernel<"by_vectors">(what, [](auto& s, auto, auto C) {
    auto [j, k] = C.axes();
    auto [jo, ji] = s.split(j, 8);
    s.reorder(jo, k, ji);
    s.vectorize(ji);
  });
  std::vector<float> const a = numbers(4 * 64);
  auto const check = [&](auto const& kernel, long terms) {
    std::vector<float> c(64, __builtin_nanf(""));
    kernel(view(a.data(), terms, 64), out(c.data(), 64));
    for (std::size_t j = 0; j < 64; ++j) {
      float s = 0;
      for (std::size_t k = 1; k < static_cast<std::size_t>(terms); ++k) s += a[k * 64 + j];
      REQUIRE(c[j] == s);
    }
  };
  for (long terms : {4, 1}) check(by_terms, terms), check(by_vectors, terms), check(weft::kernel<"by_rule">(what), terms);
}
TEST_CASE("which terms are left out is asked of numbers that wrap around as they do") {
  constexpr auto kernel = weft::kernel<"late">(
      [](auto a, auto p) {
        return compute<"c">(a.extent(1), [=](auto j) {
          return sum(a.extent(0), [=](auto k) { return weft::where(weft::cast<std::int64_t>(k) + p < 4 && 1 <= k, a(k, j)); });
        });
      },
      [](auto& s, auto, auto, auto C) {
        auto [j, k] = C.axes();
        auto [jo, ji] = s.split(j, 8);
        s.reorder(jo, k, ji);
        s.vectorize(ji);
      });
  std::vector<float> const a = numbers(8 * 16);
  for (std::int64_t const p : {std::int64_t(0x7ffffffffffffffd), std::int64_t(0), std::int64_t(-0x7fffffffffffffff) - 1, std::int64_t(2)}) {
    std::vector<float> c(16, __builtin_nanf(""));
    kernel(view(a.data(), 8, 16), p, out(c.data(), 16));
    for (std::size_t j = 0; j < 16; ++j) {
      float s = 0;
      for (std::int64_t k = 1; k < 8; ++k)
        if (static_cast<std::int64_t>(static_cast<std::uint64_t>(k) + static_cast<std::uint64_t>(p)) < 4) s += a[static_cast<std::size_t>(k) * 16 + j];
      REQUIRE(c[j] == s);
    }
  }
}
