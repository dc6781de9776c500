#include "weft/schedule/rules/planner.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

/// Of pieces of five channels, and the like, which no vector has a whole number of: so many pieces, or parts of one, in a row of a tile that the
/// vectors of all rows are fewest; a last one of half the lanes counts half.
inline std::int64_t row_of_pieces(std::int64_t piece, std::int64_t columns, std::int64_t lanes) {
  std::int64_t best = 1;
  double least = 0;
  auto const vectors = [&](std::int64_t n) {
    std::int64_t const rest = n % lanes;
    return static_cast<double>(n / lanes) + (rest == 0 ? 0 : 2 * rest <= lanes ? 0.5 : 1);
  };
  for (std::int64_t n = 2; n <= 4 * lanes && n <= columns; ++n) {
    if (n % piece != 0 && piece % n != 0) continue;
    double const sum = static_cast<double>(columns / n) * vectors(n) + vectors(columns % n);
    if (best == 1 || sum <= least) best = n, least = sum;
  }
  return best;
}
/// Axes that a sum reads in pieces, as the channels of a grouped convolution: all channels of a group read the same. Vectors that lie in one
/// piece, or have several whole ones, then read what one element or a few neighbours are.
WEFT_DECL void rule_plan::find_pieces() {
  program const& p = s_.computation();
  pieces_ = {};
  facts_.loads.clear();
  rule_view const v = view();
  sequence<std::int64_t> found;
  for (int s = 0; s < static_cast<int>(p.stages.size()); ++s) {
    stage_info const& of = v.stage(s);
    if (of.reduced == 0 || of.scanned >= 0 || of.by != nullptr) continue;
    sequence<std::int64_t> sizes(static_cast<std::size_t>(of.spatial), 0);
    each_load(p, s, [&](node const& x) {
      for (int d = 0; d < x.c; ++d)
        each_part(p, sequence<std::int32_t>(1, program::at(p.operands, x.b + d)), [&](node const& n) {
          int axis = -1;
          std::int64_t const by = v.divisor(n, axis);
          int const place = axis - of.first_axis;
          if (by == 0 || place < 0 || place >= of.spatial) return;
          std::int64_t& size = sizes[static_cast<std::size_t>(place)];
          std::int64_t a = by;
          for (std::int64_t b = size; b != 0;) {
            std::int64_t const rest = a % b;
            a = b, b = rest;
          }
          size = a;
        });
    });
    for (int a = 0; a < of.spatial; ++a) {
      std::int64_t const size = sizes[static_cast<std::size_t>(a)];
      if (size < 2) continue;
      // Some lanes of a row of such pieces read nothing, which vectors with gaps are not told by less than AVX-512.
      bool const uneven = size % 4 != 0 && v.lanes(s) % size != 0;
      if (uneven && (s_.limits.vector_bytes < 64 || row_of_pieces(size, v.extent(s, a), v.lanes(s)) < 4)) continue;
      for (std::int64_t number : {std::int64_t(s), std::int64_t(a), size}) found.push_back(number);
    }
  }
  pieces_ = found;
  facts_.loads.clear();
}
/// Of vectors along axis `column`: all, or so few that a piece is made of whole vectors. Of less than half of them, a vector has several
/// pieces; of half of them only where a piece is 16 bytes, in which elements move for nothing (groups of 8 on AVX-512, two in a vector: 68 GFLOP/s, in
/// half vectors 82). More than a vector's where neither is a multiple of the other: a row of several pieces.
WEFT_DECL std::int64_t rule_plan::lanes_of_tile(int stage, int column) const {
  rule_view const v = view();
  std::int64_t lanes = v.lanes(stage);
  std::int64_t const piece = v.piece(stage, column);
  bool const cheap = piece * widest_bytes(v.p(), v.stage(stage)) == 16;
  if (piece == 0 || (lanes % piece == 0 && (2 * piece < lanes || (2 * piece == lanes && cheap)))) return lanes;
  if (piece % 4 != 0 && lanes % piece != 0) return row_of_pieces(piece, v.extent(stage, column), lanes);
  while (piece % lanes != 0) lanes /= 2;
  return lanes;
}

}  // namespace detail
}  // namespace weft::inline WEFT_ABI
