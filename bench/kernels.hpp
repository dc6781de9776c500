// The kernels that are measured, as a user writes them.
#pragma once

#include <weft/weft.hpp>

namespace bench {

inline constexpr auto product = [](auto A, auto B) {
  auto M = A.extent(0), K = A.extent(1), N = B.extent(1);
  return weft::compute<"C">(M, N, [=](auto i, auto j) {
    return weft::sum(K, [=](auto k) { return A(i, k) * B(k, j); });
  });
};

// 6 x 64 sums in registers with AVX-512, 6 x 16 with AVX2: the first values that fit. Returns the loop over tiles of
// columns, which may run in parallel: inside the blocks of k, or around all.
inline constexpr auto register_tile = [](auto& s, auto C, bool columns_outermost) {
  auto [i, j, k] = C.axes();
  auto [ko, ki] = s.split(k, 256);
  auto [io, ii] = s.split(i, s.knob("mr", {6, 4}));
  auto [jo, ji] = s.split(j, s.knob("nr", {64, 32, 16, 8}));
  if (columns_outermost) s.reorder(jo, ko, io, ki, ii, ji);
  else s.reorder(ko, jo, io, ki, ii, ji);
  s.unroll(ii);
  s.vectorize(ji);
  return jo;
};
inline constexpr auto matmul_kernel =
    weft::kernel<"matmul">(product, [](auto& s, auto, auto, auto C) { register_tile(s, C, false); });
inline constexpr auto matmul_parallel = weft::kernel<"matmul_parallel">(
    product, [](auto& s, auto, auto, auto C) { s.parallel(register_tile(s, C, false)); });
inline constexpr auto matmul_columns =
    weft::kernel<"matmul_columns">(product, [](auto& s, auto, auto, auto C) { register_tile(s, C, true); });
inline constexpr auto matmul_columns_parallel = weft::kernel<"matmul_columns_parallel">(
    product, [](auto& s, auto, auto, auto C) { s.parallel(register_tile(s, C, true)); });

inline constexpr auto vector_add = weft::kernel<"vector_add">(
    [](auto a, auto b) { return weft::compute<"c">(a.extent(0), [=](auto i) { return a(i) + b(i); }); },
    [](auto& s, auto, auto, auto c) {
      auto [i] = c.axes();
      auto [chunk, lane] = s.split(i, 16);
      s.vectorize(lane);
      static_cast<void>(chunk);
    });

}  // namespace bench
