// Loads under masks that instructions under the same masks follow: what a mask leaves out may not be read in one of those either.
#include <vector>

#include "schedule/rules/check.hpp"
#include "support/fenced_bytes.hpp"
#include "weft/weft.hpp"

using namespace weft_test;
using weft::compute;

namespace {
/// The first elements of x as `To`, and 1 behind them.
template <class To, int Lanes>
constexpr auto prolonged = weft::kernel<"prolonged">(
    [](auto x, auto longer) {
      return compute<"y">(longer.extent(0), [=](auto i) { return weft::select(i < x.extent(0), weft::cast<To>(x(i)), To(1)); });
    },
    [](auto& s, auto, auto, auto y) {
      auto const [outer, lanes] = s.split(y.axes()[0], Lanes);
      s.vectorize(lanes);
    });
/// Each element of a pair at the place of the other.
template <class T, int Lanes>
constexpr auto swapped = weft::kernel<"swapped">(
    [](auto x, auto longer) {
      return compute<"y">(longer.extent(0), [=](auto i) {
        auto const other = i / 2 * 2 + (1 - i % 2);
        return weft::select(i < x.extent(0), weft::select(other < x.extent(0), x(other), T(5)), T(1));
      });
    },
    [](auto& s, auto, auto, auto y) {
      auto const [outer, lanes] = s.split(y.axes()[0], Lanes);
      s.vectorize(lanes);
    });

/// Inputs of several lengths, flush with a page behind which nothing may be read; `expected(i, n)`: element i of what the kernel makes of n.
template <class From, class To, class Kernel, class Expected>
void check_at_page_end(Kernel const& k, int exact_shapes, Expected const& expected) {
  std::vector<From> const longer(67, From(3));
  for (std::int64_t n : {1, 2, 3, 7, 16, 31, 33}) {
    fenced_bytes const memory(static_cast<std::size_t>(n) * sizeof(From), true);
    auto* const x = reinterpret_cast<From*>(memory.data());
    for (std::int64_t i = 0; i < n; ++i) x[i] = static_cast<From>(i + 40);
    std::vector<To> y(longer.size());
    k.with({.exact_shapes = exact_shapes})(weft::view(static_cast<From const*>(x), n), longer, weft::out(y));
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(y.size()); ++i) CHECK(y[static_cast<std::size_t>(i)] == expected(i, n));
  }
}
template <class From, class To, int Lanes>
void check_prolonged(int exact_shapes) {
  check_at_page_end<From, To>(prolonged<To, Lanes>, exact_shapes, [](std::int64_t i, std::int64_t n) { return i < n ? static_cast<To>(i + 40) : To(1); });
}
template <class T, int Lanes>
void check_swapped(int exact_shapes) {
  check_at_page_end<T, T>(swapped<T, Lanes>, exact_shapes, [](std::int64_t i, std::int64_t n) { return i >= n ? T(1) : (i ^ 1) >= n ? T(5) : static_cast<T>((i ^ 1) + 40); });
}
}  // namespace

TEST_CASE("what is left out behind a tensor is not read by an instruction that makes elements narrower or wider") {
  for (int exact_shapes : {100, 0}) {
    check_prolonged<std::int64_t, std::int32_t, 2>(exact_shapes);
    check_prolonged<std::int64_t, std::int32_t, 4>(exact_shapes);
    check_prolonged<std::int64_t, std::int32_t, 8>(exact_shapes);
    check_prolonged<std::int64_t, std::int16_t, 8>(exact_shapes);
    check_prolonged<std::int32_t, std::int16_t, 4>(exact_shapes);
    check_prolonged<std::int32_t, std::int16_t, 16>(exact_shapes);
    check_prolonged<std::int32_t, std::int8_t, 16>(exact_shapes);
    check_prolonged<std::int16_t, std::int8_t, 32>(exact_shapes);
    check_prolonged<std::int16_t, std::int32_t, 16>(exact_shapes);
    check_prolonged<float, std::int32_t, 16>(exact_shapes);
    check_prolonged<double, float, 8>(exact_shapes);
  }
}
TEST_CASE("nor by one that moves lanes") {
  for (int exact_shapes : {100, 0}) {
    check_swapped<float, 16>(exact_shapes);
    check_swapped<float, 4>(exact_shapes);
    check_swapped<double, 2>(exact_shapes);
    check_swapped<double, 8>(exact_shapes);
    check_swapped<std::int32_t, 16>(exact_shapes);
    check_swapped<std::int64_t, 2>(exact_shapes);
    check_swapped<std::int16_t, 32>(exact_shapes);
  }
}
