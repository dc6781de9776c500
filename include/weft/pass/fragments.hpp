// What a warp does with tiles gets fragments: those of sums are there already, these are for what is multiplied.
#pragma once

#include "weft/ir/ir.hpp"

namespace weft::inline WEFT_ABI {

/// Where a tile begins in memory, and how it goes on.
struct tile_access {
  ir::buffer const* buf = nullptr;
  ir::list<ir::expr> begin;              // of its first element
  std::int64_t rows = 0, columns = 0;    // from one to the next, in elements; one of them is 1
  bool is_row_major() const { return columns == 1; }
  std::int64_t leading() const { return is_row_major() ? rows : columns; }
};
/// That of an access in the loops over `row` and `column`; `buf` is null where no matrix unit could load it so.
tile_access access_of_tile(ir::arena& m, ir::buffer const* buf, ir::list<ir::expr> indices, std::int32_t row, std::int32_t column);
/// The place of its first element in the buffer's memory, in elements.
ir::expr place_of_tile(ir::arena& m, tile_access const& t);
/// One of the two loads of a product in three loops, of rows, columns and terms: the left operand's, where rows count in its indices.
struct tile_operand {
  bool is_left = false;
  tile_access at;
};
tile_operand operand_of_tile(ir::arena& m, ir::stmt tile, ir::expr load);
/// The loads in an expression, each once.
sequence<ir::expr> loads_of(ir::expr e);
/// `e` with `to` in the place of `from`.
ir::expr exchanged(ir::arena& m, ir::expr e, ir::expr from, ir::expr to);
/// Of an array of fragments that which the indices in front of the tile's own say.
ir::expr number_of_fragment(ir::arena& m, ir::buffer const* fragments, ir::list<ir::expr> const& indices);

/// Whether its first element, and with it each row, or column where these stand side by side, surely begins at a multiple of so many.
bool begins_at_multiples(ir::arena& m, tile_access const& t, std::int64_t elements);

/// Gives each tile of a product fragments that it is loaded into. Tiles behind each other share what they have in common.
///
///     tile multiply: C_sum[0] += A[0..] * B[0..]         load_a: a = A[0..]
///     tile multiply: C_sum[1] += A[0..] * B[16..]   ->   load_b: b = B[0..]
///                                                        multiply: C_sum[0] += a * b
///                                                        load_b: b_ = B[16..]
///                                                        multiply: C_sum[1] += a * b_
///
/// Runs after `unroll`, so that the tiles of a warp stand behind each other, and in front of all that changes single accesses:
/// those do not look into tiles from here on.
/// Of a unit whose lanes know what they have (intrinsic::has_places) a store may compute anything of single sums, and goes anywhere.
///
/// Errors  schedule_error: sums that are not kept while their reduction runs; operands that are no tiles of matrices, rows or
///         columns side by side; tiles that do not begin, or rows that are not apart, as the hardware asks (PTX ISA, matrix
///         storage for wmma; ldmatrix)
ir::stmt fragments(ir::function& f, ir::stmt body);

}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/pass/fragments.ipp"
#endif
