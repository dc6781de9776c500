// Operators of the face on whole arrays: bits, and clamp.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "weft/direct.hpp"
#include "weft/kernel.hpp"

TEST_CASE("bits of integers: in the type in which a sum is computed, shifts by the amount modulo the width") {
  constexpr auto bits = weft::kernel<"bits">([](auto a, auto b) {
    return weft::compute<"r">(a.extent(0), 6, [=](auto i, auto k) {
      auto const x = a(i), y = b(i);
      return weft::select(k == 0, x & y,
                          weft::select(k == 1, x | y,
                                       weft::select(k == 2, x ^ y, weft::select(k == 3, x << y, weft::select(k == 4, x >> y, ~x)))));
    });
  });
  auto const check = [&]<class T>(T) {
    using R = decltype(T() + T());
    std::vector<T> const a{T(1), T(-1), T(100), T(-128), T(77)}, b{T(3), T(1), T(33), T(7), T(0)};
    auto const r = weft::evaluate(bits, weft::view(a, 5), weft::view(b, 5));
    static_assert(std::is_same_v<std::remove_cvref_t<decltype(r.values[0])>, R>);
    using U = std::make_unsigned_t<R>;
    for (std::size_t i = 0; i < 5; ++i) {
      R const x = a[i], y = b[i];
      int const by = static_cast<int>(static_cast<U>(y) % (8 * sizeof(R)));
      R const expected[] = {static_cast<R>(x & y), static_cast<R>(x | y), static_cast<R>(x ^ y),
                            static_cast<R>(static_cast<U>(x) << by), static_cast<R>(x >> by), static_cast<R>(~x)};
      for (std::size_t k = 0; k < 6; ++k) CHECK(r.values[i * 6 + k] == expected[k]);
    }
  };
  check(std::int8_t()), check(std::uint8_t()), check(std::int32_t()), check(std::uint32_t()), check(std::int64_t()), check(std::uint64_t());
}
TEST_CASE("clamp keeps NaN and the sign of a zero between its bounds, as std::clamp does") {
  constexpr auto unit = weft::kernel<"unit">(
      [](auto a) { return weft::compute<"r">(a.extent(0), [=](auto i) { return weft::clamp(a(i), 0, 1); }); });
  std::vector<float> const a{NAN, -0.0f, 0.5f, -3, 7, INFINITY, -INFINITY};
  auto const r = weft::evaluate(unit, weft::view(a, 7)).values;
  CHECK(std::isnan(r[0]));
  for (std::size_t i = 1; i < 7; ++i) CHECK(std::signbit(r[i]) == std::signbit(std::clamp(a[i], 0.0f, 1.0f)));
  for (std::size_t i = 1; i < 7; ++i) CHECK(r[i] == std::clamp(a[i], 0.0f, 1.0f));
}
