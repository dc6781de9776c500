// C = A B by hand, in the nest of the kernel that it is compared with: k in blocks of 256, then tiles of columns,
// then tiles of rows, and within a tile one step of k after the other.
//
// Included by files with instruction set flags of their own, so it names nothing of weft and nothing of std: an
// inline function shared with other files might be linked in the wide form.
#pragma once

#include <cstdint>

namespace bench {

/// Row-major and dense: A is m x k, B is k x n, C is m x n. Columns j_begin .. j_end of C are computed; both are
/// multiples of the tile, or j_end is n.
struct matmul_problem {
  float const* a;
  float const* b;
  float* c;
  std::int64_t m, n, k;
  std::int64_t j_begin, j_end;
  bool columns_outermost;  // the loop over tiles of columns around the one over blocks of k
  float* panels = nullptr;  // not null: B is read from here, where each tile of columns stands side by side
  bool pack = false;        // and is copied here first; the last panel is as wide as the others
};

/// 6 x 64 sums in 24 registers of AVX-512, and 6 x 16 in 12 of AVX2.
void matmul_avx512(matmul_problem const& p);
void matmul_avx2(matmul_problem const& p);
constexpr std::int64_t avx512_columns = 64, avx2_columns = 16;

// A namespace of each file's own.
namespace {

constexpr int tile_rows = 6;
constexpr std::int64_t k_block = 256;

/// `Vector` has: reg, lanes, columns; mask(count), load(p), load(p, mask), store(p, v), store(p, v, mask),
/// zero(), all(x), fma(a, b, c).
template <class Vector, bool Packed>
struct nest {
  matmul_problem const& p;
  static constexpr std::int64_t lanes = Vector::lanes, step = Vector::columns * lanes;

  float const* b_at(std::int64_t k, std::int64_t j) const {
    return Packed ? p.panels + (j / step * p.k + k) * step : p.b + k * p.n + j;
  }
  std::int64_t b_row() const { return Packed ? step : p.n; }
  void pack() const {
    for (std::int64_t j = 0; j < p.n; j += step)
      for (std::int64_t k = 0; k < p.k; ++k)
        for (std::int64_t q = 0; q < step; q += lanes) {
          float* const to = p.panels + (j / step * p.k + k) * step + q;
          float const* const from = p.b + k * p.n + j + q;
          std::int64_t const left = p.n - j - q;
          if (left >= lanes) Vector::store(to, Vector::load(from));
          else if (left > 0) Vector::store(to, Vector::load(from, Vector::mask(left)));
        }
  }

  /// Rows x Columns vectors of C at (i, j); of the last column only `rest` elements when Partial.
  template <int Rows, int Columns, bool Partial>
  void tile(std::int64_t i, std::int64_t j, std::int64_t k_begin, std::int64_t k_end) const {
    using reg = typename Vector::reg;
    auto const mask = Vector::mask(Partial ? p.n - j - (Columns - 1) * lanes : lanes);
    auto const load = [&](float const* at, int column) {
      at += column * lanes;
      return Partial && column == Columns - 1 ? Vector::load(at, mask) : Vector::load(at);
    };
    reg sum[Rows][Columns];
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 8
      for (int q = 0; q < Columns; ++q) sum[r][q] = k_begin == 0 ? Vector::zero() : load(p.c + (i + r) * p.n + j, q);
    float const* row = b_at(k_begin, j);
    for (std::int64_t k = k_begin; k < k_end; ++k, row += b_row()) {
      reg b[Columns];
#pragma GCC unroll 8
      for (int q = 0; q < Columns; ++q) b[q] = load(row, q);
#pragma GCC unroll 8
      for (int r = 0; r < Rows; ++r) {
        reg const a = Vector::all(p.a[(i + r) * p.k + k]);
#pragma GCC unroll 8
        for (int q = 0; q < Columns; ++q) sum[r][q] = Vector::fma(a, b[q], sum[r][q]);
      }
    }
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 8
      for (int q = 0; q < Columns; ++q) {
        float* const at = p.c + (i + r) * p.n + j + q * lanes;
        if (Partial && q == Columns - 1) Vector::store(at, sum[r][q], mask);
        else Vector::store(at, sum[r][q]);
      }
  }
  /// All rows of one tile of columns in one block of k.
  template <int Columns, bool Partial>
  void rows(std::int64_t j, std::int64_t k_begin, std::int64_t k_end) const {
    std::int64_t i = 0;
    for (; i + tile_rows <= p.m; i += tile_rows) tile<tile_rows, Columns, Partial>(i, j, k_begin, k_end);
    switch (p.m - i) {
      case 5: return tile<5, Columns, Partial>(i, j, k_begin, k_end);
      case 4: return tile<4, Columns, Partial>(i, j, k_begin, k_end);
      case 3: return tile<3, Columns, Partial>(i, j, k_begin, k_end);
      case 2: return tile<2, Columns, Partial>(i, j, k_begin, k_end);
      case 1: return tile<1, Columns, Partial>(i, j, k_begin, k_end);
      default: return;
    }
  }
  /// The last tile of columns takes as many vectors as it needs.
  template <int Columns>
  void last_columns(std::int64_t j, std::int64_t k_begin, std::int64_t k_end) const {
    std::int64_t const rest = p.n - j;
    if constexpr (Columns > 1)
      if (rest <= (Columns - 1) * lanes) return last_columns<Columns - 1>(j, k_begin, k_end);
    rest == Columns * lanes ? rows<Columns, false>(j, k_begin, k_end) : rows<Columns, true>(j, k_begin, k_end);
  }
  void columns(std::int64_t j, std::int64_t k_begin) const {
    std::int64_t const k_end = k_begin + k_block < p.k ? k_begin + k_block : p.k;
    if (j + Vector::columns * lanes <= p.n) rows<Vector::columns, false>(j, k_begin, k_end);
    else last_columns<Vector::columns>(j, k_begin, k_end);
  }
  void run() const {
    if (p.columns_outermost)
      for (std::int64_t j = p.j_begin; j < p.j_end; j += step)
        for (std::int64_t k = 0; k < p.k; k += k_block) columns(j, k);
    else
      for (std::int64_t k = 0; k < p.k; k += k_block)
        for (std::int64_t j = p.j_begin; j < p.j_end; j += step) columns(j, k);
  }
};
template <class Vector>
void run_nest(matmul_problem const& p) {
  if (p.panels == nullptr) return nest<Vector, false>{p}.run();
  if (p.pack) nest<Vector, true>{p}.pack();
  nest<Vector, true>{p}.run();
}

}  // namespace
}  // namespace bench
