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

// The tile of sums in registers: 6 x 64 with AVX-512, 6 x 16 with AVX2, the first values that fit.
struct register_tile {
  std::int64_t rows, columns;
  constexpr explicit register_tile(auto& s)
      : rows(s.knob("mr", {6, 4})), columns(s.knob("nr", {64, 32, 16, 8})) {}
  // Returns the loop over tiles of columns, which may run in parallel: inside the blocks of k, or around all.
  constexpr auto nest(auto& s, auto C, bool columns_outermost) const {
    auto [i, j, k] = C.axes();
    auto [ko, ki] = s.split(k, 256);
    auto [io, ii] = s.split(i, rows);
    auto [jo, ji] = s.split(j, columns);
    if (columns_outermost) s.reorder(jo, ko, io, ki, ii, ji);
    else s.reorder(ko, jo, io, ki, ii, ji);
    s.unroll(ii);
    s.vectorize(ji);
    return jo;
  }
};
inline constexpr auto matmul_kernel =
    weft::kernel<"matmul">(product, [](auto& s, auto, auto, auto C) { register_tile(s).nest(s, C, false); });
inline constexpr auto matmul_parallel = weft::kernel<"matmul_parallel">(
    product, [](auto& s, auto, auto, auto C) { s.parallel(register_tile(s).nest(s, C, false)); });
inline constexpr auto matmul_columns =
    weft::kernel<"matmul_columns">(product, [](auto& s, auto, auto, auto C) { register_tile(s).nest(s, C, true); });
inline constexpr auto matmul_columns_parallel = weft::kernel<"matmul_columns_parallel">(
    product, [](auto& s, auto, auto, auto C) { s.parallel(register_tile(s).nest(s, C, true)); });

// B in panels as wide as the tile, each of which is read in one go.
inline constexpr auto packed_nest = [](auto& s, auto B, auto C, bool once) {
  register_tile const tile(s);
  auto panels = s.transform_layout(s.cache_read(B, C), [columns = tile.columns](auto k, auto n) {
    return weft::dims(n / columns, k, n % columns);
  });
  auto [panel, row, lane] = panels.axes();
  s.vectorize(lane);
  static_cast<void>(panel), static_cast<void>(row);
  if (once) s.prepack(panels);
  tile.nest(s, C, false);
};
inline constexpr auto packed_kernel =
    weft::kernel<"matmul_packed">(product, [](auto& s, auto, auto B, auto C) { packed_nest(s, B, C, false); });
inline constexpr auto prepacked_kernel =
    weft::kernel<"matmul_prepacked">(product, [](auto& s, auto, auto B, auto C) { packed_nest(s, B, C, true); });

inline constexpr auto vector_add = weft::kernel<"vector_add">(
    [](auto a, auto b) { return weft::compute<"c">(a.extent(0), [=](auto i) { return a(i) + b(i); }); },
    [](auto& s, auto, auto, auto c) {
      auto [i] = c.axes();
      auto [chunk, lane] = s.split(i, 16);
      s.vectorize(lane);
      static_cast<void>(chunk);
    });

}  // namespace bench
