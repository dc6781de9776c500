// The rules of a GPU, as parts of one plan. What a stage is (a product, a row, columns) is told as on the CPU, by its accesses.
#pragma once

#include "weft/schedule/rules/planner.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

/// A GPU as the rules see it, which know of no other: enough blocks for its processors, and threads for its memory.
struct gpu_numbers {
  static constexpr std::int64_t processors = 132, threads = processors * 1024, shared_bytes = 48 * 1024;
  static constexpr std::int64_t staged_bytes = 60 * 1024;  // of all iterations' copies, rows' padding apart
  static constexpr std::int64_t rows_of_blocks = 8;
};

/// Axes of a product, by place: what is read for one of them is read again for each iteration of the other.
struct reused_axes {
  int rows = -1, columns = -1;
};
/// A block's tile of a product by matrix units, and a warp's.
struct gpu_matrix_tile {
  std::int64_t rows = 0, columns = 0, warp_rows = 16, warp_columns = 16;
};
/// The tile of which `rows` x `columns` are a multiple that keeps most of the machine busy; rows 0: there is none.
gpu_matrix_tile best_gpu_matrix_tile(std::int64_t rows, std::int64_t columns, double count);
/// A block's tile of a product, and a thread's.
struct gpu_tile {
  std::int64_t rows = 32, columns = 32, own_rows = 2, own_columns = 2;
};
/// The tile that keeps most of the machine busy, for `count` products of `rows` x `columns`.
///
/// What counts is how often a thread uses what it has read from shared memory (a row of 8 and a column of 8 serve 64 multiplications,
/// 4 and 4 only 16), what of the last tiles is wasted, and the last round of blocks that leaves processors idle.
gpu_tile best_gpu_tile(std::int64_t rows, std::int64_t columns, double count);

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
  static std::int64_t power_below(std::int64_t n);

  // --- nests (gpu_planner.ipp)
  void choose_alone();
  void nest_of(int stage);
  int column_axis(int stage, sequence<access> const& all) const;
  void elements(int stage);
  void transposed(int stage, sequence<access> const& all, int axis, int other);
  void columns(int stage);

  // --- rows (gpu_rows.ipp)
  bool is_tree(int stage) const;
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
  };
  bool measure_copy(int stage, access const& one, sequence<std::int64_t> const& tile, shared_copy& into) const;
  void copy_ahead(sequence<shared_copy> const& copies, gpu_tile const& t, std::int64_t bytes, std::int64_t tiles);
  void fill_shared(shared_copy const& c, int at, std::int64_t across, std::int64_t down);

  // --- products by matrix units, and what becomes of sums (gpu_matrix.ipp)
  struct matrix_operands {
    intrinsic const* unit = nullptr;
    std::int32_t tensors[2] = {-1, -1};
  };
  matrix_operands operands_of(int stage, reused_axes const& axes) const;
  bool matrix_product(int stage, reused_axes const& axes);
  void fill_rows(int copy, int tensor, int at, std::int64_t elements, std::int64_t threads);
  int reader_behind(int stage) const;
  void behind(int stage);

  sequence<bool> behind_;  // by stage: computed behind the sums of another one
};

}  // namespace detail
}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/schedule/rules/gpu_planner.ipp"
#include "weft/schedule/rules/gpu_matrix.ipp"
#include "weft/schedule/rules/gpu_rows.ipp"
#include "weft/schedule/rules/gpu_tiles.ipp"
#endif
