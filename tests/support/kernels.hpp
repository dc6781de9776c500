// Kernels and numbers that several files of tests use.
#pragma once

#include <doctest/doctest.h>

#include <concepts>
#include <string>
#include <vector>

#include "weft/kernel.hpp"

namespace weft_test {

using weft::compute, weft::sum;

inline constexpr auto matrix_product = [](auto A, auto B) {
  auto M = A.extent(0), K = A.extent(1), N = B.extent(1);
  return compute<"C">(M, N, [=](auto i, auto j) { return sum(K, [=](auto k) { return A(i, k) * B(k, j); }); });
};
inline constexpr auto tiled_matmul = weft::kernel<"matmul">(matrix_product, [](auto& s, auto, auto, auto C) {
  auto [i, j, k] = C.axes();
  auto [ko, ki] = s.split(k, s.knob("kb", {256, 512}));
  auto [io, ii] = s.split(i, s.knob("mr", {6, 4}));
  auto [jo, ji] = s.split(j, s.knob("nr", {64, 32, 16, 8}));
  s.reorder(ko, jo, io, ki, ii, ji);
  s.unroll(ii);
  s.vectorize(ji);
  s.parallel(jo);
});
inline constexpr auto saxpy = weft::kernel<"saxpy">(
    [](auto x, auto y, auto alpha) {
      return compute<"z">(x.extent(0), [=](auto i) { return alpha * x(i) + y(i); });
    },
    [](auto& s, auto, auto, auto, auto z) {
      auto [i] = z.axes();
      auto [io, ii] = s.split(i, 16);
      s.vectorize(ii);
    });
inline constexpr auto blur = weft::kernel<"blur">([](auto a) {
  auto n = a.extent(0);
  return compute<"b">(n, [=](auto i) {
    return a(weft::clamp(i - 1, 0, n - 1)) + a(i) + a(weft::clamp(i + 1, 0, n - 1));
  });
});
inline constexpr auto sums_of_rows = weft::kernel<"row_sums">([](auto a) {
  return compute<"s">(a.extent(0), [=](auto i) { return sum(a.extent(1), [=](auto k) { return a(i, k); }); });
});
inline constexpr auto highest_and_lowest = weft::kernel<"spread">([](auto a) {
  auto low =
      compute<"low">(a.extent(0), [=](auto i) { return weft::min(a.extent(1), [=](auto k) { return a(i, k); }); });
  auto high =
      compute<"high">(a.extent(0), [=](auto i) { return weft::max(a.extent(1), [=](auto k) { return a(i, k); }); });
  return weft::outputs(high, low);
});

/// Multiples of a quarter between -1.5 and 1.5, whose sums of products are exact.
inline std::vector<float> numbers(std::integral auto n, int step = 5) {
  std::vector<float> v(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = static_cast<float>(static_cast<int>(i) * step % 13 - 6) / 4;
  return v;
}
/// What a call was refused for; empty when it went through.
template <class F>
std::string refusal(F const& call) {
  try {
    call();
  } catch (weft::argument_error const& e) {
    return e.what();
  }
  return "";
}
#define CHECK_REFUSED(words, ...)                                      \
  do {                                                                 \
    std::string const said = weft_test::refusal([&] { __VA_ARGS__; }); \
    INFO("said: " << said);                                            \
    CHECK(said.find(words) != std::string::npos);                      \
  } while (false)

}  // namespace weft_test
