#include "weft/schedule/rules/gpu_planner.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

WEFT_DECL gpu_matrix_tile best_gpu_matrix_tile(std::int64_t rows, std::int64_t columns, double count) {
  constexpr gpu_matrix_tile all[] = {{128, 128, 64, 32}, {128, 64, 32, 32}, {64, 128, 32, 32}, {64, 64, 32, 32},
                                     {64, 32, 32, 16},   {32, 64, 16, 32},  {32, 32, 16, 16},  {16, 16, 16, 16}};
  gpu_matrix_tile best;
  double most = 0;
  for (gpu_matrix_tile const& t : all) {
    if (rows % t.rows != 0 || columns % t.columns != 0) continue;
    double const blocks = static_cast<double>(rows / t.rows * (columns / t.columns)) * count, rounds = blocks / gpu_numbers::processors;
    auto const whole = static_cast<double>(static_cast<std::int64_t>(rounds) + (rounds > static_cast<double>(static_cast<std::int64_t>(rounds)) ? 1 : 0));
    // A warp's tile says how often what ldmatrix brings is multiplied, a block's how often what global memory brings.
    double const again = static_cast<double>(t.warp_rows * t.warp_columns) / static_cast<double>(t.warp_rows + t.warp_columns) +
                         static_cast<double>(t.rows * t.columns) / static_cast<double>(t.rows + t.columns);
    if (again * rounds / whole > most) most = again * rounds / whole, best = t;
  }
  return best;
}

/// Which unit multiplies the terms of `stage`, and what it reads, rows' operand first. Null: the terms are no product of two matrices
/// as memory has them, or are more than products.
WEFT_DECL gpu_plan::matrix_operands gpu_plan::operands_of(int stage, reused_axes const& axes) const {
  rule_view const v = view();
  stage_info const& of = v.stage(stage);
  matrix_operands found;
  if (how_ != boldness::all || of.reduced != 1 || of.results != 1) return found;
  int const k = of.spatial;
  sequence<access> const all = v.loads(stage);
  for (intrinsic const* by : in_.dots) {
    sequence<std::int32_t> loads;
    if (!by->is_tile() || !by->match(v.p(), v.p().result(of, 0).body, loads) || loads.size() != 2) continue;
    if (is_float(program::at(v.p().tensors, of.tensor).type) && !in_.reassociate) continue;
    bool fine = true;
    for (std::int32_t load : loads) {
      int const tensor = v.p().at(load).a, from = program::at(v.p().tensors, tensor).stage;
      sequence<std::int64_t> const strides = v.strides(tensor);
      fine = fine && (from < 0 || !v.is_inlined(from)) && !strides.empty() && strides.back() == 1;
      for (access const& one : all) {
        if (one.tensor != tensor) continue;
        bool const rows = one.step(axes.rows) != 0, columns = one.step(axes.columns) != 0;
        int const its = rows ? axes.rows : axes.columns;
        fine = fine && rows != columns && (one.step(k) == 1 || one.step(its) == 1) && dimension_of(stage, tensor, its) >= 0 &&
               dimension_of(stage, tensor, k) >= 0 && found.tensors[columns] < 0;
        found.tensors[columns] = tensor;
      }
    }
    if (fine && found.tensors[0] >= 0 && found.tensors[1] >= 0 && v.extent(stage, k) % by->terms == 0 && v.extent(stage, k) > 0) {
      found.unit = by;
      return found;
    }
    found = {};
  }
  return found;
}
/// A copy in shared memory as the tensor lies in memory, 16 bytes by each thread; rows are an odd number of 16 bytes apart, so that
/// eight of them meet no bank twice.
WEFT_DECL void gpu_plan::fill_rows(int copy, int tensor, int at, std::int64_t elements, std::int64_t threads) {
  int const rank = view().stage(copy).spatial;
  std::int64_t const wide = 16 / element_bytes(tensor);
  step padded{verb::storage_align};
  padded.stage = copy;
  for (std::int64_t number : {std::int64_t(rank - 2), 2 * wide, wide}) padded.numbers.push_back(number);
  if (!place(verb::compute_at, copy, at)) return;
  if (may(padded)) take(padded);
  rule_view const v = view();
  parts const lane = split(v.loop(copy, rank - 1), wide);
  sequence<std::int32_t> all;
  for (int d = 0; d + 1 < rank; ++d) all.push_back(v.loop(copy, d));
  all.push_back(lane.outer);
  parts const thread = split(fused(all), elements / wide < threads ? elements / wide : threads);
  bind(thread.inner, thread_axis::thread_x);
  mark(verb::vectorize, lane.inner);
}
/// Tiles of 16 x 16 sums that warps keep in registers, of blocks whose operands come through shared memory. False, and nothing is
/// done: no unit does it, or extents leave a part of a tile.
WEFT_DECL bool gpu_plan::matrix_product(int stage, reused_axes const& axes) {
  matrix_operands const of = operands_of(stage, axes);
  if (of.unit == nullptr) return false;
  rule_view const before = view();
  stage_info const info = before.stage(stage);
  int const k = info.spatial;
  for (int a : {axes.rows, axes.columns, k})
    if (is_open(before.loop(stage, a))) return false;  // a tile is whole
  std::int64_t const m = before.extent(stage, axes.rows), n = before.extent(stage, axes.columns);
  gpu_matrix_tile const t = best_gpu_matrix_tile(m, n, before.iterations(stage, false) / static_cast<double>(m * n));
  if (t.rows == 0) return false;
  std::int64_t const deep = before.extent(stage, k) % (2 * of.unit->terms) == 0 ? 2 * of.unit->terms : of.unit->terms;
  std::int64_t const threads = 32 * (t.rows / t.warp_rows) * (t.columns / t.warp_columns);
  int copies[2] = {add_stage(verb::cache_read, stage, of.tensors[0]), -1};
  copies[1] = copies[0] < 0 ? -1 : add_stage(verb::cache_read, stage, of.tensors[1]);
  rule_view const v = view();
  struct parts_of_axis {
    parts block, warp, tile;
  };
  auto const cut_up = [&](int axis, std::int64_t block, std::int64_t warp) {
    parts_of_axis p;
    p.block = split(v.loop(stage, axis), block);
    p.warp = split(p.block.inner, warp);
    p.tile = split(p.warp.inner, 16);
    return p;
  };
  parts_of_axis const row = cut_up(axes.rows, t.rows, t.warp_rows), column = cut_up(axes.columns, t.columns, t.warp_columns);
  parts const terms = split(v.loop(stage, k), deep), step_of = split(terms.inner, of.unit->terms);
  sequence<std::int32_t> blocks;
  for (int a = 0; a < info.spatial; ++a)
    if (a != axes.rows && a != axes.columns) blocks.push_back(v.loop(stage, a));
  for (int l : {row.block.outer, column.block.outer}) blocks.push_back(l);
  sequence<std::int32_t> order = blocks;
  for (int l : {terms.outer, row.warp.outer, column.warp.outer, step_of.outer, row.tile.outer, column.tile.outer, row.tile.inner, column.tile.inner, step_of.inner})
    order.push_back(l);
  reorder(order);
  bind(fused({row.warp.outer, column.warp.outer}), thread_axis::warp);
  for (int l : {row.tile.outer, column.tile.outer}) mark(verb::unroll, l);
  step by{verb::tensorize, 1, {row.tile.inner}};
  by.by = of.unit;
  take(by);
  grid(blocks);
  for (int i = 0; i < 2; ++i)
    if (copies[i] >= 0) fill_rows(copies[i], of.tensors[i], terms.outer, (i == 0 ? t.rows : t.columns) * deep, threads);
  return true;
}
/// The stage that nobody but which reads `stage`, itself or by inlined ones; -1: there is none, or it has work of its own.
WEFT_DECL int gpu_plan::reader_behind(int stage) const {
  sequence<sequence<std::int32_t>> const readers = readers_of(s_.computation());
  rule_view const v = view();
  int r = stage;
  do {
    sequence<std::int32_t> const& next = readers[static_cast<std::size_t>(r)];
    if (next.size() != 1 || v.is_output(r)) return -1;
    r = next[0];
  } while (v.is_inlined(r));
  stage_info const& of = v.stage(r);
  bool const alone = static_cast<std::size_t>(r) < host_.size() && host_[static_cast<std::size_t>(r)] == r && guests_of(r).empty();
  return alone && of.reduced == 0 && of.scanned < 0 && of.by == nullptr && of.results == 1 ? r : -1;
}
/// What becomes of a product's sums, where they are.
WEFT_DECL void gpu_plan::behind(int stage) {
  int const r = s_.state != verdict::illegal ? reader_behind(stage) : -1;
  step one{verb::reverse_compute_inline};
  one.stage = r;
  if (r < 0 || !may(one) || !take(one)) return;
  behind_[static_cast<std::size_t>(r)] = true;
}

}  // namespace detail
}  // namespace weft::inline WEFT_ABI
