// Kernels without a how-lambda: what the rule, and a search around it, are measured on.
#pragma once

#include <cstddef>

#include "weft/weft.hpp"

namespace bench {

// By name, since what is kept on disk for one name is not found under another.
template <weft::fixed_string Name>
inline constexpr auto plain_product = weft::kernel<Name>([](auto A, auto B) {
  return weft::compute<"C">(A.extent(0), B.extent(1), [=](auto i, auto j) {
    return weft::sum(A.extent(1), [=](auto k) { return A(i, k) * B(k, j); });
  });
});
template <weft::fixed_string Name>
inline constexpr auto plain_convolution = weft::kernel<Name>([](auto x, auto w) {
  return weft::compute<"y">(x.extent(0) - 2, x.extent(1) - 2, w.extent(3), [=](auto i, auto j, auto o) {
    return weft::sum(3, 3, x.extent(2), [=](auto a, auto b, auto c) { return x(i + a, j + b, c) * w(a, b, c, o); });
  });
});
template <weft::fixed_string Name>
inline constexpr auto plain_softmax = weft::kernel<Name>([](auto x) {
  auto m = weft::compute<"m">(x.extent(0), [=](auto i) { return weft::max(x.extent(1), [=](auto k) { return x(i, k); }); });
  auto e = weft::compute<"e">(x.extent(0), x.extent(1), [=](auto i, auto j) { return weft::exp(x(i, j) - m(i)); });
  auto s = weft::compute<"s">(x.extent(0), [=](auto i) { return weft::sum(x.extent(1), [=](auto k) { return e(i, k); }); });
  return weft::compute<"y">(x.extent(0), x.extent(1), [=](auto i, auto j) { return e(i, j) / s(i); });
});

/// What all contestants fill their inputs with.
template <std::size_t Rank, class... N>
weft::tensor<float, Rank> plain_numbers(N... extents) {
  weft::tensor<float, Rank> t(extents...);
  for (std::size_t i = 0; i < static_cast<std::size_t>(t.size()); ++i) t.data()[i] = static_cast<float>(i * 7 % 13) * 0.25f - 1.5f;
  return t;
}

}  // namespace bench
