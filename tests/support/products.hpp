// Products of matrices of any sizes, by small tiles, and whether they are right.
#pragma once

#include "support/kernels.hpp"

namespace weft_test {

inline constexpr auto small_tiles = [](auto& s, auto, auto, auto C) {
  auto [i, j, k] = C.axes();
  auto [jo, ji] = s.split(j, 16);
  auto [io, ii] = s.split(i, 4);
  s.reorder(io, jo, k, ii, ji);
  s.unroll(ii);
  s.vectorize(ji);
};
/// Two matrices, and memory for their product.
struct operands {
  std::int64_t m, k, n;
  std::vector<float> a = numbers(m * k), b = numbers(k * n, 7), c = std::vector<float>(static_cast<std::size_t>(m * n), -1.0f);
  /// Whether all elements are what they should be; sums of few bits are exact in any order.
  bool right() const {
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        float want = 0;
        for (std::int64_t l = 0; l < k; ++l)
          want += a[static_cast<std::size_t>(i * k + l)] * b[static_cast<std::size_t>(l * n + j)];
        if (c[static_cast<std::size_t>(i * n + j)] != want) return false;
      }
    return true;
  }
  template <class Kernel>
  bool runs(Kernel const& kernel) {
    for (float& x : c) x = -1.0f;
    kernel(weft::view(a, m, k), weft::view(b, k, n), weft::out(c, m, n));
    return right();
  }
};

}  // namespace weft_test
