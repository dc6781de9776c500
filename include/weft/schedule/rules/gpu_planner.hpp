// The rules of a GPU, as parts of one plan. What a stage is (a product, a row, columns) is told as on the CPU, by its accesses.
#pragma once

#include "weft/expr/im2col.hpp"
#include "weft/schedule/rules/planner.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

/// A GPU as the rules see it, which know of no other: enough blocks for its processors, and threads for its memory.
struct gpu_numbers {
  static constexpr std::int64_t processors = 132, threads = processors * 1024, shared_bytes = 48 * 1024;
  static constexpr std::int64_t staged_bytes = 60 * 1024;  // of all iterations' copies, rows' padding apart
  static constexpr std::int64_t matrix_staged_bytes = 96 * 1024;  // the same of a product by matrix units: a block of sm_89 has 99 KiB
  // The same of rows that a block keeps: two such blocks fit a processor of sm_80 and sm_90, and one of sm_89.
  static constexpr std::int64_t row_bytes = 96 * 1024;
  static constexpr std::int64_t row_copied_from = 8 * 1024;  // rows of fewer bytes stay in the first cache
  static constexpr std::int64_t rows_of_blocks = 8;
  static constexpr double whole_counts = 1.25;  // of sums of a convolution, which are written and read once more where tiles are cut
};

/// Axes of a product, by place: what is read for one of them is read again for each iteration of the other.
struct reused_axes {
  int rows = -1, columns = -1;
};
/// A block's tile of a product by matrix units, and a warp's.
struct gpu_matrix_tile {
  std::int64_t rows = 0, columns = 0, warp_rows = 16, warp_columns = 16;
};
/// The tile that keeps most of the machine busy: as best_gpu_tile, what counts being how often a warp multiplies what ldmatrix
/// brings, and a block what global memory brings.
gpu_matrix_tile best_gpu_matrix_tile(std::int64_t rows, std::int64_t columns, double count, double whole = 1);
/// A block's tile of a product, and a thread's.
struct gpu_tile {
  std::int64_t rows = 32, columns = 32, own_rows = 2, own_columns = 2;
  /// One that takes most of a processor: it is for what has registers for it alone.
  bool is_largest() const { return own_rows * own_columns > 64; }
};
/// The tile that keeps most of the machine busy, for `count` products of `rows` x `columns`.
///
/// What counts is how often a thread uses what it has read from shared memory (a row of 8 and a column of 8 serve 64 multiplications,
/// 4 and 4 only 16), what of the last tiles is wasted, and the last round of blocks that leaves processors idle. Tiles that divide count `whole`
/// times as much, where what is behind others is a launch of its own. `largest`: 16 and 8, too, which serve 1.1 times as fast as 8 and 8 (an H100, 4096^3).
gpu_tile best_gpu_tile(std::int64_t rows, std::int64_t columns, double count, double whole = 1, bool largest = false);

class gpu_plan : public rule_plan {
 public:
  using rule_plan::rule_plan;
  void write();

 private:
  // --- steps (gpu_planner.ipp)
  void bind(int l, thread_axis to);
  int fused(sequence<std::int32_t> const& loops);
  /// Gives loops that stand outermost to blocks. The innermost of them; -1: none.
  int grid(sequence<std::int32_t> const& loops);
  /// Loops with open lengths first.
  sequence<std::int32_t> open_first(sequence<std::int32_t> const& loops) const;
  /// The same for blocks with copies of what they read, whose size has to be seen: of quotients of an open number it is not, so
  /// each open loop has an axis of the grid's, and the others, behind them, have one together.
  int grid_of_tiles(sequence<std::int32_t> const& loops);
  /// Whether the axes of `stage` need no more than the grid has.
  bool has_grid_of_tiles(int stage) const;
  std::int64_t element_bytes(int tensor) const { return size_bytes(program::at(s_.computation().tensors, tensor).type); }
  sequence<access> accesses(int stage) const;
  std::int64_t width(sequence<access> const& all, int axis, std::int64_t extent) const;
  std::int64_t width_in_rows(int stage, sequence<access> const& all, int axis, std::int64_t extent) const;
  static std::int64_t power_below(std::int64_t n);

  // --- nests (gpu_planner.ipp)
  void choose_alone();
  void nest_of(int stage);
  int column_axis(int stage, sequence<access> const& all) const;
  bool is_one_row(int stage, sequence<access> const& all) const;
  void elements(int stage);
  void transposed(int stage, sequence<access> const& all, int axis, int other);
  void columns(int stage);

  // --- rows (gpu_rows.ipp)
  bool is_tree(int stage) const;
  /// Stages that are computed in the rows of another one, how many of its axes are the rows', and the bytes that a row has of all of them.
  struct kept_rows {
    sequence<std::int32_t> guests{};
    int depth = 0;
    std::int64_t bytes = 0;
  };
  std::int64_t row_bytes(int stage, int depth) const;
  bool reads_rows(int stage, int tensor, int depth) const;
  void copy_rows(int stage, kept_rows& all);
  kept_rows keep_rows(int stage);
  void rows(int stage);
  void long_rows(int stage);
  std::int64_t threads_of_row(std::int64_t length) const;
  void in_row(int stage, int depth, std::int64_t threads);
  void tree(int stage, std::int64_t threads);
  void join(int stage, int v);

  // --- products (gpu_tiles.ipp)
  reused_axes reuse(int stage) const;
  bool product(int stage, reused_axes const& axes);
  /// What a copy holds of each dimension, and along which dimension a tile's axis reads it.
  struct shared_copy {
    int stage = -1, tensor = -1, along = -1;
    sequence<std::int64_t> region{};
    bool rows_of_terms = false;  // its elements lie along the terms, and stay so
    bool is_padded = true;       // threads of a warp read several rows at once
  };
  bool fits_largest_tile(int stage, reused_axes const& axes) const;
  bool measure_copy(int stage, access const& one, sequence<std::int64_t> const& tile, shared_copy& into) const;
  void copy_ahead(int stage, sequence<shared_copy> const& copies, gpu_tile const& t, std::int64_t bytes, std::int64_t tiles);
  parts in_groups(int stage, int row, std::int64_t rows, std::int64_t columns);
  void grid_of_groups(sequence<std::int32_t> const& blocks, bool grouped);
  void fill_shared(shared_copy const& c, int at, std::int64_t across, std::int64_t down);

  // --- convolutions, as products (gpu_windows.ipp)
  /// A stage that im2col made a product, and the stages that gather its operands.
  struct gathered_product {
    int stage = -1, product = -1;
    int gathers[2] = {-1, -1};
    std::int64_t bytes[2] = {0, 0};  // so many stand side by side in memory, of what is gathered together
  };
  void find_windows();
  sequence<std::int64_t> order_of_terms(int stage) const;
  bool holds_for_rows(int condition, int axis) const;
  std::int64_t gathered_bytes(int stage, im2col_form::operand const& of, sequence<std::int64_t> const& order) const;
  /// The stage that gathers `tensor` for a product; -1: it is read as it stands.
  int gather_of(int tensor) const;
  bool is_gathered(int product) const;
  bool is_placed_gather(int stage) const;
  /// The copy of `tensor` for a tile of `stage`.
  int copy_for(int stage, int tensor) { return gather_of(tensor) >= 0 ? gather_of(tensor) : add_stage(verb::cache_read, stage, tensor); }

  // --- products by matrix units, and what becomes of sums (gpu_matrix.ipp)
  struct matrix_operands {
    intrinsic const* unit = nullptr;
    std::int32_t tensors[2] = {-1, -1};
    std::string why{};  // there is none
  };
  std::string name_of(int stage) const {
    program const& p = s_.computation();
    return std::string(program::at(p.tensors, program::at(p.stages, stage).tensor).name.view());
  }
  void tell(int stage, std::string const& what) const;
  /// four_warps: units of four warps, too, where the product suits them.
  matrix_operands operands_of(int stage, reused_axes const& axes, bool four_warps = false) const;
  /// The tile of a block for a unit of four warps; none: it does not suit the product.
  gpu_matrix_tile tile_of_four_warps(int stage, reused_axes const& axes, std::int32_t const (&tensors)[2]) const;
  void in_panels(int copy);
  /// Numbers of a product by matrix units: the tile of a block and of its warps, terms in shared memory, iterations that copies run ahead.
  struct matrix_numbers {
    gpu_matrix_tile tile{};
    std::int64_t deep = 0, ahead = 0;
    std::int64_t threads() const { return 32 * (tile.rows / tile.warp_rows) * (tile.columns / tile.warp_columns); }
  };
  matrix_numbers numbers_of(int stage, reused_axes const& axes, matrix_operands const& of);
  enum class by_units : std::uint8_t { none, whole_tiles, last_tiles_cut };
  by_units matrix_product(int stage, reused_axes const& axes);
  void end_in_zeros(int copy, sequence<std::int64_t> const& tile);
  std::int64_t bytes_side_by_side(int tensor) const;
  bool is_swizzled(int tensor, bool rows_of_terms) const;
  void fill_rows(int copy, int tensor, int at, std::int64_t elements, std::int64_t threads, bool rows_of_terms = false);
  void run_ahead(int copy, int tensor, std::int64_t ahead);
  int reader_behind(int stage) const;
  void behind(int stage);

  // --- softmax of a product's rows, multiplied again (gpu_attention.ipp)
  /// A product, what becomes of its rows, and the product of that.
  struct attention_stages {
    int first = -1, second = -1, weights = -1;
    sequence<std::int32_t> between{};  // reductions along rows, and what is elementwise; `weights` with them
    bool alone = true;  // nobody else reads these
    bool holds(int stage) const;
  };
  /// A block's rows, the keys that are copied at a time, and iterations that copies run ahead.
  struct attention_numbers {
    std::int64_t rows = 0, keys = 0, warps = 1, warp_columns = 16, ahead = 0, bytes = 0;
    std::int64_t columns() const { return warps * warp_columns; }
  };
  bool is_between(int stage, attention_stages& into) const;
  attention_stages attention_of(int second) const;
  attention_numbers attention_numbers_of(attention_stages const& a) const;
  void find_attention();
  int scores_of(attention_stages const& a) const;
  void tile_of_product(int stage, reused_axes const& axes, matrix_operands const& of, std::int64_t rows, std::int64_t columns,
                       std::int64_t warp_columns, std::int64_t terms);
  void cut_operand(int stage, int tensor, sequence<std::int64_t>& tile, int axis, std::int64_t length) const;
  void attention(attention_stages const& a);
  bool is_attended(int stage) const;
  /// The same in blocks of keys: what the product of a block is joined with, of what copy of the values, and where the result is made.
  struct attention_blocks {
    attention_stages of{};
    int state = -1, values = -1, home = -1;
    bool holds(int stage) const { return of.holds(stage) || stage == state || stage == values || stage == home; }
  };
  attention_blocks blocks_of(int state) const;
  attention_numbers numbers_of_blocks(attention_blocks const& b) const;
  void attention_in_blocks(attention_blocks const& b);
  bool may_attend(int told_of, attention_stages const& a) const;

  sequence<attention_stages> attended_;
  sequence<attention_blocks> attended_in_blocks_;
  sequence<bool> behind_;  // by stage: computed behind the sums of another one
  sequence<gathered_product> gathered_;
};

}  // namespace detail
}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/schedule/rules/gpu_planner.ipp"
#include "weft/schedule/rules/gpu_attention.ipp"
#include "weft/schedule/rules/gpu_windows.ipp"
#include "weft/schedule/rules/gpu_matrix.ipp"
#include "weft/schedule/rules/gpu_rows.ipp"
#include "weft/schedule/rules/gpu_tiles.ipp"
#endif
