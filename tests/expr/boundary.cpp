#include "weft/expr/boundary.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "weft/weft.hpp"

namespace {
/// What stands at i - 9 .. of a row under a border, read one element at a time.
template <class Border>
auto around(Border) {
  return weft::kernel<"around">(
      [](auto A) {
        auto const P = Border{}(A);
        return weft::compute<"C">(A.extent(0) + 18, [=](auto i) { return P(i - 9); });
      },
      [](auto& s, auto, auto C) {
        auto [i] = C.axes();
        auto [io, ii] = s.split(i, 8);
        s.vectorize(ii);
      });
}
std::vector<int> text(weft::tensor<int, 1> const& t) {
  std::vector<int> v;
  for (std::int64_t i = 0; i < t.extent(0); ++i) v.push_back(t(i));
  return v;
}
/// The same by walking step by step, an independent definition.
int walked(std::vector<int> const& row, int at, bool turns, bool twice) {
  int const n = static_cast<int>(row.size());
  if (!turns) {
    while (at < 0) at += n;
    while (at >= n) at -= n;
    return row[static_cast<std::size_t>(at)];
  }
  int place = 0, step = 1;
  for (int i = 0; i != at; i += at < 0 ? -1 : 1) {  // the image is symmetric around 0 (or -1/2)
    int const next = place + step;
    if (next >= 0 && next < n) {
      place = next;
    } else {
      step = -step;
      if (!twice && n > 1) place += step;
    }
  }
  return row[static_cast<std::size_t>(place)];
}
}  // namespace

TEST_CASE("a border is read as its picture says, however far outside") {
  for (int n : {1, 2, 3, 5, 8}) {
    std::vector<int> row;
    for (int i = 0; i < n; ++i) row.push_back(10 + i);
    auto const view = weft::view(row, n);
    auto const edge = text(around([](auto A) { return weft::repeat_edge(A); })(view));
    auto const constant = text(around([](auto A) { return weft::constant_exterior(A, -7); })(view));
    auto const wrapped = text(around([](auto A) { return weft::wrap(A); })(view));
    auto const mirrored = text(around([](auto A) { return weft::mirror(A); })(view));
    auto const reflected = text(around([](auto A) { return weft::reflect(A); })(view));
    for (int i = -9; i < n + 9; ++i) {
      auto const at = static_cast<std::size_t>(i + 9);
      CAPTURE(n);
      CAPTURE(i);
      bool const inside = i >= 0 && i < n;
      CHECK(edge[at] == row[static_cast<std::size_t>(i < 0 ? 0 : i >= n ? n - 1 : i)]);
      CHECK(constant[at] == (inside ? row[static_cast<std::size_t>(i)] : -7));
      CHECK(wrapped[at] == walked(row, i, false, false));
      // ... 1 0 | 0 1: the element at -1 - i is that at i.
      CHECK(mirrored[at] == walked(row, i < 0 ? -1 - i : i, true, true));
      CHECK(reflected[at] == walked(row, i < 0 ? -i : i, true, false));
    }
  }
}
TEST_CASE("a border in two dimensions under tiling agrees with direct evaluation") {
  constexpr auto blur = weft::kernel<"blur">(
      [](auto A) {
        auto const P = weft::reflect(A);
        return weft::compute<"B">(A.extent(0), A.extent(1), [=](auto y, auto x) {
          return (P(y - 1, x) + P(y + 1, x) + P(y, x - 2) + P(y, x + 2)) * 0.25f;
        });
      },
      [](auto& s, auto, auto B) {
        auto [y, x] = B.axes();
        auto [xo, xi] = s.split(x, 16);
        s.vectorize(xi);
        s.parallel(y);
      });
  for (std::int64_t m : {1, 2, 7})
    for (std::int64_t n : {1, 3, 16, 37}) {
      weft::tensor<float, 2> a(m, n);
      for (std::int64_t i = 0; i < m * n; ++i) a.data()[i] = static_cast<float>(i * 7 % 31);
      auto const fast = blur(a);
      auto const direct = weft::evaluate({.contract = weft::cpu().fma}, blur, a);
      for (std::int64_t i = 0; i < m * n; ++i) CHECK(fast.data()[i] == direct.values[static_cast<std::size_t>(i)]);
    }
}
TEST_CASE("an index that is read from a tensor is refused until it is clamped") {
  constexpr auto careless = weft::kernel<"careless">(
      [](auto A, auto P) { return weft::compute<"C">(P.extent(0), [=](auto i) { return A(P(i)); }); });
  constexpr auto careful = weft::kernel<"careful">(
      [](auto A, auto P) {
        return weft::compute<"C">(P.extent(0), A.extent(1), [=](auto i, auto j) {
          return A(weft::clamp(P(i), 0, A.extent(0) - 1), j);
        });
      },
      [](auto& s, auto, auto, auto C) {
        auto [i, j] = C.axes();
        auto [io, ii] = s.split(i, 8);
        s.reorder(io, j, ii);
        s.vectorize(ii);
      });
  std::vector<float> const row{1, 2, 3};
  std::vector<int> const places{2, 0, 1, 7, -3, 0, 0, 1, 2, 1, 0};
  CHECK_THROWS_AS(careless(weft::view(row, 3), weft::view(places, 11)), weft::argument_error);
  weft::tensor<float, 2> a(3, 5);
  for (int i = 0; i < 15; ++i) a.data()[i] = static_cast<float>(i);
  auto const c = careful(a, weft::view(places, 11));
  for (std::int64_t i = 0; i < 11; ++i)
    for (std::int64_t j = 0; j < 5; ++j) {
      int const p = places[static_cast<std::size_t>(i)];
      CHECK(c(i, j) == a(p < 0 ? 0 : p > 2 ? 2 : p, j));
    }
}
TEST_CASE("the exterior is any number that the elements have") {
  constexpr auto shifted = weft::kernel<"shifted">([](auto A) {
    auto B = weft::constant_exterior(A, 2);
    return weft::compute<"C">(A.extent(0), [=](auto i) { return B(i + 1); });
  });
  auto const check = [&]<class T>(T) {
    std::vector<T> const a{T(5.0f), T(7.0f)};
    auto const c = weft::evaluate(shifted, weft::view(a, 2)).values;
    CHECK(static_cast<float>(c[0]) == 7);
    CHECK(static_cast<float>(c[1]) == 2);
  };
  check(weft::f16()), check(weft::bf16()), check(float()), check(double()), check(std::int8_t()), check(std::uint64_t());
}
