#include "weft/schedule/rules/planner.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

WEFT_DECL register_tile_size best_tile(std::int64_t rows, std::int64_t columns, std::int64_t lanes, std::int64_t registers,
                                       tile_costs const& costs) {
  register_tile_size best;
  auto const more = [](double a, double b) { return a > b ? a : b; };
  std::int64_t const all = ceil_div(columns, lanes);
  for (std::int64_t v = 1; v <= costs.most_vectors && v <= all; ++v)
    for (std::int64_t r = 1; r <= costs.most_rows && r <= rows && r * v + v + 1 <= registers; ++r) {
      double const vector = v > costs.near_vectors && v <= costs.whole_vectors ? costs.far_vector : costs.vector;
      auto const step = [&](std::int64_t have_rows, std::int64_t have) {
        double const y = static_cast<double>(have_rows), x = static_cast<double>(have);
        return y == 0 ? 0 : more(more(y * x / costs.at_once, 4), more((x + y) / 2, vector * x)) + costs.row * y + 0.25;  // a quarter for the loop itself
      };
      std::int64_t const down = rows / r, across = ceil_div(all, v), last_rows = rows % r;
      // Of five vectors two terms at a time would take more registers than there are: where rows are left over, 64 by 512 terms ran at 155 with 5 x 5, at 180 with 8 x 3.
      if (v > 4 && last_rows != 0) continue;
      double const cycles = static_cast<double>(across) * (static_cast<double>(down) * step(r, v) + step(last_rows, v));
      // Somewhat larger is no better where it leaves a remainder of rows: 35 = 5 x 7 ran at 1.06 of 4 x 8 + 3.
      bool const uneven = rows % best.rows == 0 && last_rows != 0 && 5 * r * v <= 6 * best.rows * best.vectors;
      bool const larger = cycles < best.cycles * 1.01 && r * v > best.rows * best.vectors && !uneven;
      if (best.cycles == 0 || cycles < best.cycles * (v > 4 ? costs.of_five : 0.99) || (larger && v <= 4)) best = {r, v, cycles};
    }
  return best;
}
WEFT_DECL register_tile_size tile_of_near_rows(std::int64_t rows, std::int64_t columns, std::int64_t lanes, std::int64_t registers, double at_once,
                                               std::int64_t window) {
  register_tile_size best;
  for (std::int64_t r = 1; r <= 16 && r <= rows && r + 2 <= registers; ++r) {
    bool const pays = at_once > 1 ? 2 * r * window <= most_written_out : r < 10 && (r >= 8 || r == rows);
    std::int64_t const v = pays && columns > lanes && 2 * r + 3 <= registers ? 2 : 1;
    auto const step = [&](std::int64_t have) {
      double const multiplied = static_cast<double>(have * v) / at_once, loaded = static_cast<double>(have + v) / 2;
      double const busy = multiplied > loaded ? multiplied : loaded;
      return busy < 4 ? 4 : busy;
    };
    double const rest = rows % r == 0 ? 0 : step(rows % r) + 1;
    double const cycles = static_cast<double>(ceil_div(columns, v * lanes)) * (static_cast<double>(rows / r) * (step(r) + 0.25) + rest);
    if (best.cycles == 0 || cycles < best.cycles) best = {r, v, cycles};
  }
  return best;
}

/// Whether a tile whose lanes run along `column` has rows that lie side by side in the result.
WEFT_DECL bool rule_plan::has_turned_rows(int stage, int column) const {
  rule_view const v = view();
  access const result = v.result(stage);
  for (int r = 0; r < v.stage(stage).spatial; ++r) {
    bool same = r != column && result.step(r) == 1 && v.extent(stage, r) >= 4;
    for (access const& one : v.loads(stage)) same = same && (one.step(column) == 0 || one.step(r) == 0);
    if (same) return true;
  }
  return false;
}
/// Whether vectors along `column` of what is read with small gaps, as by a convolution that moves on by two, are a few loads that are put in order
/// (codegen/llvm/window.ipp), also where some lanes are in the padding: then something else is multiplied with it, which is one element for all lanes.
WEFT_DECL bool rule_plan::is_window(int stage, access const& one, int column) const {
  bool const wide = s_.limits.vector_bytes == 64 && how_ != boldness::loops;
  if (!wide || one.step(column) < 2 || one.step(column) > 4 || program::at(s_.computation().tensors, one.tensor).type == dtype::boolean) return false;
  for (access const& other : view().loads(stage))
    if (other.step(column) == 0) return true;
  return false;
}
WEFT_DECL tile_axes rule_plan::axes_of_tile(int stage) const {
  rule_view const v = view();
  stage_info const& of = v.stage(stage);
  tile_axes best;
  if (of.results > 1) return best;
  sequence<access> const& loads = v.loads(stage);
  access const result = v.result(stage);
  double const total = v.iterations(stage), terms = total / (v.iterations(stage, false) + 1e-9);
  double most = 0;
  for (int c = 0; c < of.spatial; ++c) {
    std::int64_t const e = v.extent(stage, c);
    if (c == of.scanned || e == 0 || e == 1) continue;
    int const with = axis_joined(stage, {c, -1, {}});
    std::int64_t const row = with < 0 ? e : e * v.extent(stage, with);
    double score = row < 0 ? 1 : static_cast<double>(row) / static_cast<double>(ceil_div(row, v.lanes(stage)) * v.lanes(stage));
    if (score < 0.4 && contiguous_reduced_axis(v, stage) >= 0 && order_may_change(stage)) continue;
    sequence<std::int32_t> packed;
    bool any = false, fine = true, window = false;
    for (access const& one : loads) {
      if (one.step(c) == 0) continue;
      any = true;
      if (one.step(c) == 1) continue;
      if (is_window(stage, one, c)) {
        window = true;
        continue;
      }
      double const reads = total / (v.iterations_of(one.tensor) + 1), paid = is_constant(one.tensor) ? 1 : reads / (reads + 16);
      bool const worth = how_ != boldness::loops && reads >= in_.copy_reads && v.piece(stage, c) == 0;
      if (one.step(c) == no_step || !worth || !can_pack(stage, one.tensor, c)) fine = false;
      packed.push_back(one.tensor), score *= paid > 0.8 ? paid : 0.8;
    }
    if (window) score *= 0.5;  // two to four loads and what puts them in order, in place of one
    // Lines of channels (channels_of_lines) come faster than lines of pixels, which lie far apart: 64 x 64 x 64 94 -> 116, 32 x 32 x 128 83 -> 120 GFLOP/s.
    bool lines = false;
    for (int r = 0; r < of.spatial && result.step(c) != 1; ++r)
      lines = lines || (r != c && result.step(r) == 1 && channels_of_lines(stage, {c, r, {}}) >= 0);
    if (lines) score *= 1.5;
    // Stored once for all terms: turned over in registers, where rows of the tile lie side by side in the result, or scattered.
    else if (result.step(c) != 1) score *= terms / (terms + (has_turned_rows(stage, c) ? 8 : 32));
    if (!fine || !any || score <= most) continue;
    most = score, best.columns = c, best.packed = packed;
  }
  if (best.columns < 0) return best;
  std::int64_t longest = 1;
  for (int r = 0; r < of.spatial; ++r) {
    if (r == best.columns || r == of.scanned) continue;
    bool again = false;  // a vector is used for several rows
    for (access const& one : loads) again = again || (one.step(best.columns) != 0 && one.step(r) == 0);
    std::int64_t e = v.extent(stage, r) < 0 ? 4096 : v.extent(stage, r);
    if (result.step(best.columns) != 1 && result.step(r) == 1 && e >= 4) e = std::int64_t(1) << 40;  // its rows are turned over
    if (again && e > 1 && e >= longest) longest = e, best.rows = r;  // of equal ones the nearest in memory
  }
  return best;
}
/// The reduced loops, those outermost that lead furthest in memory: of a convolution whose channels are last, its window around them. What
/// hangs on the place in the window alone, as whether that is in the padding, is then known in front of the innermost loop.
WEFT_DECL sequence<std::int32_t> rule_plan::reduced_loops(int stage) const {
  rule_view const v = view();
  stage_info const& of = v.stage(stage);
  bool const any_order = how_ != boldness::loops && order_may_change(stage);
  sequence<std::int32_t> loops;
  sequence<std::int64_t> reach;
  for (int a = of.spatial; a < of.axes(); ++a) {
    std::int64_t most = 0;
    for (access const& one : v.loads(stage))
      if (one.step(a) != no_step && one.step(a) > most) most = one.step(a);
    loops.push_back(v.loop(stage, a)), reach.push_back(most);
    for (std::size_t at = loops.size() - 1; any_order && at > 0 && reach[at - 1] < most; --at) {
      loops[at] = loops[at - 1], reach[at] = reach[at - 1];
      loops[at - 1] = v.loop(stage, a), reach[at - 1] = most;
    }
  }
  // Those of one term outermost, as the window of 1x1: a panel is packed in the innermost.
  for (std::size_t i = 0, ones = 0; has_far_memory() && i < loops.size(); ++i) {
    std::int32_t const l = loops[i];
    if (trips(l) != 1 || is_open(l)) continue;
    loops.erase(loops.begin() + i);
    loops.insert(loops.begin() + ones++, l);
  }
  return loops;
}

/// The axis outside of the columns with which they are one row in all that the stage reads and writes: their vectors are fuller then.
WEFT_DECL int rule_plan::axis_joined(int stage, tile_axes const& t) const {
  rule_view const v = view();
  int const a = t.columns - 1;
  std::int64_t const inner = v.extent(stage, t.columns);
  // Of a part of fused axes, a stage that is computed there would make all rows that it reaches into.
  bool const alone = host_[static_cast<std::size_t>(stage)] == stage;
  if (!alone || how_ == boldness::loops || a < 0 || a == t.rows || v.stage(stage).scanned >= 0 || inner < 1 || v.extent(stage, a) < 2) return -1;
  sequence<access> all = v.loads(stage);
  all.push_back(v.result(stage));
  for (access const& one : all)
    if (one.step(a) == no_step || one.step(a) != step_sum(0, one.step(t.columns), inner)) return -1;
  // A window moves over the ends of rows: what it asks of its place would be asked of each lane.
  stage_info const& of = v.stage(stage);
  bool window = false;
  each_load(v.p(), stage, [&](node const& x) {
    for (int d = 0; d < x.c; ++d) {
      auto const moves = [&](int axis) { return v.coefficient(program::at(v.p().operands, x.b + d), of.first_axis + axis) != 0; };
      for (int k = of.spatial; k < of.axes() && (moves(a) || moves(t.columns)); ++k)
        window = window || (moves(k) && v.extent(stage, k) != 1);
    }
  });
  return !window && (has_far_memory() || inner % v.lanes(stage) != 0) ? a : -1;
}

/// Whether what a tile reads for its rows lies on a few lines, as the pixels of a picture whose channels are first, and its rows lie side by
/// side in the result: tile_of_near_rows.
WEFT_DECL bool rule_plan::rows_are_near(int stage, tile_axes const& t) const {
  rule_view const v = view();
  bool near = t.rows >= 0 && v.result(stage).step(t.columns) != 1 && v.result(stage).step(t.rows) == 1;
  for (access const& one : v.loads(stage))
    if (one.step(t.columns) == 0 && near) near = one.step(t.rows) != no_step && one.step(t.rows) >= 0 && one.step(t.rows) <= 4;
  return near;
}
/// Of a convolution with channels first, where memory is far: the reduced axis of channels, which sums run along innermost, one place of the window after the
/// other, as where channels are last. Weights lie in that order in their panels, and of the image there is a copy in which a line of each channel follows on that of
/// the channel before, so that both come as they lie in memory, and from few pages. -1: there is none, or too little is done with each pixel.
///
/// f32, 3x3, one thread of a Cascade Lake, 2026-11-27: 56 x 56 x 64 112 -> 136 GFLOP/s, 28 x 28 x 128 118 -> 145, 14 x 14 x 256 124 -> 143.
WEFT_DECL int rule_plan::channels_of_lines(int stage, tile_axes const& t) const {
  rule_view const v = view();
  stage_info const& of = v.stage(stage);
  if (!has_far_memory() || !rows_are_near(stage, t) || !order_may_change(stage)) return -1;
  if (v.piece(stage, t.columns) > 0 || v.extent(stage, t.columns) < 2 * v.lanes(stage)) return -1;
  int channels = -1, pixels = -1;
  bool window = false;
  for (access const& one : v.loads(stage)) {
    if (one.step(t.rows) == 0) continue;
    if (pixels >= 0 && pixels != one.tensor) return -1;
    pixels = one.tensor;
  }
  for (int k = of.spatial; k < of.axes(); ++k) {
    if (v.extent(stage, k) == 1) continue;
    if (dimension_of(stage, pixels, k) < 0) {
      window = true;
      continue;
    }
    if (channels >= 0 || v.extent(stage, k) < 16) return -1;
    channels = k;
  }
  return window ? channels : -1;
}
/// Lets `stage` read a copy of `tensor`, the image of channels_of_lines: channels stand in front of what lies side by side.
WEFT_DECL int rule_plan::copy_by_lines(int stage, int tensor, int channels) {
  int const d = dimension_of(stage, tensor, channels), rank = program::at(s_.computation().tensors, tensor).rank;
  if (d + 2 >= rank) return -1;  // they do
  int const copy = add_stage(verb::cache_read, stage, tensor);
  if (copy < 0) return -1;
  step layout{verb::transform_layout};
  layout.stage = copy;
  auto const dimension = [&](std::int64_t k) {
    for (std::int64_t number : {k, std::int64_t(1), std::int64_t(0)}) layout.numbers.push_back(number);
  };
  for (int k = 0; k + 1 < rank; ++k)
    if (k != d) dimension(k);
  dimension(d), dimension(rank - 1);
  layout.numbers.push_back(0);
  take(layout);
  rule_view const v = view();
  parts const line = cut(v.loop(copy, rank - 1), 4 * v.lanes(copy));
  mark(verb::vectorize, line.inner);
  return copy;
}
/// So many places of a window are written out for each sum (sums_in_tile).
WEFT_DECL std::int64_t rule_plan::window_written_out(int stage, tile_axes const& t) const {
  if (channels_of_lines(stage, t) >= 0) return 1;
  std::int64_t const last = trips(reduced_loops(stage).back());
  return last >= 1 && last <= 8 ? last : 1;
}
/// Whether panels of columns are outermost, around images and their rows: where all panels do not fit into the second cache, they
/// would come from the third again for each row of pixels, and what is read for the rows fits.
WEFT_DECL bool rule_plan::panels_first(int stage, tile_axes const& t, std::int64_t panels) const {
  rule_view const v = view();
  double again = 1, by_columns = 0, by_rows = 0;  // iterations of the axes around; bytes
  for (int a = 0; a < v.stage(stage).spatial; ++a)
    if (a != t.columns && a != t.rows) again *= static_cast<double>(v.extent(stage, a) < 0 ? 1 : v.extent(stage, a));
  sequence<std::int32_t> seen;
  for (access const& one : v.loads(stage)) {
    bool known = false;
    for (std::int32_t other : seen) known = known || other == one.tensor;
    if (known) continue;
    seen.push_back(one.tensor);
    bool moves = false;  // with what is around
    for (int a = 0; a < v.stage(stage).spatial; ++a) moves = moves || (a != t.columns && a != t.rows && one.step(a) != 0);
    if (one.step(t.columns) != 0 && moves) return false;
    (one.step(t.columns) != 0 ? by_columns : by_rows) += v.bytes_of(one.tensor);
  }
  double const cache = (has_far_memory() ? 0.5 : 0.75) * static_cast<double>(in_.l2_bytes);
  double const outside = by_columns * (by_columns > cache ? again : 1) + by_rows;
  double const inside = by_columns + by_rows * (by_rows > cache ? static_cast<double>(panels) : 1);
  return t.rows >= 0 && how_ != boldness::loops && again > 1 && 2 * inside < outside;
}

/// The axis, beside those of a tile, along which windows overlap in what serves no other tile: lines of pixels, where each channel is
/// summed alone. -1: none.
WEFT_DECL int rule_plan::lines_that_share(int stage, tile_axes const& t) const {
  rule_view const v = view();
  stage_info const& of = v.stage(stage);
  if (how_ == boldness::loops) return -1;
  for (int a = of.spatial; a-- > 0;) {
    if (a == t.columns || a == t.rows || a == of.scanned || v.extent(stage, a) < 2) continue;
    for (access const& one : v.loads(stage)) {
      std::int64_t const line = one.step(a);
      if (line <= 0 || one.step(t.columns) == 0 || (t.rows >= 0 && one.step(t.rows) == 0)) continue;
      for (int k = of.spatial; k < of.axes(); ++k)
        if (std::int64_t const next = one.step(k); next > 0 && line % next == 0 && line / next < v.extent(stage, k)) return a;
    }
  }
  return -1;
}

/// So many lines share their windows in a tile, and so many places of each. Where memory is far fewer lines are read twice, which counts for more than places that share: seven lines of two
/// places (or eight, or six of three) in place of four of four, GFLOP/s of 3x3, channels last, by one thread and two (a server with AMX): 112 x 112 of 96 57.9 -> 60.3 and 117 -> 130,
/// 56 x 56 of 128 57 -> 63 and 190 -> 196, 28 x 28 of 256 98 -> 102 and 176 -> 210; 14 x 14 of 512 106 -> 98 and 150 -> 162, so not there.
WEFT_DECL rule_plan::shared_lines rule_plan::lines_of_tile(int stage, tile_axes const& t, int above) const {
  rule_view const v = view();
  std::int64_t const there = v.extent(stage, above);
  bool const has_many = s_.limits.vector_registers >= 32;
  bool by_lanes = t.rows >= 0;  // windows do not overlap along the lanes
  for (access const& one : v.loads(stage))
    for (int k = v.stage(stage).spatial; k < v.stage(stage).axes(); ++k) by_lanes = by_lanes && (one.step(k) == 0 || one.step(k) != one.step(t.columns));
  if (by_lanes && has_many && has_far_memory() && there >= 28)
    for (std::int64_t const lines : {7, 8, 6})
      if (there % lines == 0 && there / lines % in_.threads == 0) return {lines, lines > 6 ? 2 : 3};
  std::int64_t const most = has_many ? 4 : 2;
  return {there < most ? 1 : most, 4};
}

/// Of each row of a tile a line comes from the second cache every 16 terms, which two units for whole vectors wait for (f32, GFLOP/s by one thread, EPYC, Zen 5: 37 x 71 x 53 180 -> 233,
/// 4096^3 245 -> 254). Where memory is far a panel that takes more than half of that cache is read from the last one. Up to 14 rows then, if they do not meet in few sets of the first cache: 3x3 on 14 x 14 x 256 113 -> 125
/// GFLOP/s, 300^3 65 -> 118, where tiles of one vector seemed as good (Cascade Lake, 2026-11-26).
///
/// `streamed`: packed weights, of which the next block of terms comes to the second cache meanwhile.
WEFT_DECL tile_costs rule_plan::costs_of_tile(int stage, tile_axes const& t, double terms, bool streamed) const {
  rule_view const v = view();
  tile_costs costs;
  double const panel = (terms < 1 ? 1 : terms) * static_cast<double>(v.lanes(stage)) * widest_bytes(v.p(), v.stage(stage));  // of one vector
  bool const streams = 4 * panel > static_cast<double>(in_.l1_bytes);  // from the second cache
  if (streams) costs.vector = 2.5;
  if (has_two_units() || has_far_memory()) costs.at_once = 2, costs.row = 0.15;
  // Few tiles of rows wait for a panel that comes from beyond the second cache: one of five vectors is gone over less often (35 x 8457 x 2560 166 -> 199 GFLOP/s, 40 x 4096 x 4096 230 -> 238, 25 rows 206 -> 220).
  constexpr std::int64_t rows_of_five = 5;
  if (has_two_units() && has_scattered_rows(stage, t) && serves_few_tiles(stage, t, rows_of_five)) costs.most_vectors = 5, costs.of_five = 1.01;
  if (!has_far_memory()) return costs;
  costs.most_vectors = 5;
  if (!streamed) costs.near_vectors = static_cast<std::int64_t>(static_cast<double>(in_.l2_bytes) / 2 / panel);
  costs.whole_vectors = static_cast<std::int64_t>(0.75 * static_cast<double>(in_.l2_bytes) / panel);
  costs.far_vector = 64.0 / static_cast<double>(in_.l3_bytes_per_cycle);
  constexpr std::int64_t way = 4096;  // of the first cache
  bool apart = streams && t.rows >= 0;
  for (access const& one : v.loads(stage)) {
    if (!apart || one.step(t.rows) == 0) continue;
    std::int64_t const pitch = one.step(t.rows) == no_step ? way : one.step(t.rows) * size_bytes(program::at(v.p().tensors, one.tensor).type);
    std::int64_t sets = 1;
    while (sets < 64 && pitch * sets % way != 0) sets *= 2;
    apart = sets >= 4;  // of 14 rows four at most in one, which has eight lines
  }
  if (apart) costs.most_rows = 14;
  return costs;
}
/// Whether what is read along the columns comes from beyond the second cache: rows of a panel are apart then, the longer each the further.
WEFT_DECL bool rule_plan::has_scattered_rows(int stage, tile_axes const& t) const {
  rule_view const v = view();
  for (access const& one : v.loads(stage))
    if (one.step(t.columns) == 1 && v.bytes_of(one.tensor) > static_cast<double>(in_.l2_bytes)) return true;
  return false;
}
/// The best one, or that of a search: then rows first, and vectors that fit beside them. `joined`: the columns, where they are
/// fused with an axis outside of them; `in_panels`: and copied.
WEFT_DECL register_tile_size rule_plan::tile_for(int stage, tile_axes const& t, std::int64_t lanes, std::int64_t joined, bool in_slabs, bool streamed,
                                                 bool in_panels) {
  rule_view const v = view();
  auto const piece = [&](int axis) { return axis < 0 ? 0 : v.piece(stage, axis); };
  auto const extent = [&](int axis) {
    if (piece(axis) >= lanes) return piece(axis);
    return axis < 0 ? 1 : v.extent(stage, axis) < 0 ? 4096 : v.extent(stage, axis);
  };
  std::int64_t const columns = joined < 0 ? extent(t.columns) : joined;
  std::int64_t const registers = s_.limits.vector_registers / ceil_div(lanes, v.lanes(stage));
  std::int64_t const down = extent(t.rows), across = ceil_div(columns, lanes);
  double terms = v.iterations(stage) / (v.iterations(stage, false) + 1e-9);
  if (joined >= 0 && !in_panels && has_far_memory() && has_scattered_rows(stage, t) && terms > terms_near) terms = terms_near;
  register_tile_size tile = in_slabs                 ? tile_of_slabs(down, registers)
                            : rows_are_near(stage, t) ? tile_of_near_rows(down, columns, lanes, registers, has_far_memory() ? 2 : 1, window_written_out(stage, t))
                                                    : best_tile(down, columns, lanes, registers, costs_of_tile(stage, t, terms, streamed));
  // With lines, windows share what they read both ways, and there are fewer registers for each.
  if (int const above = lines_that_share(stage, t); above >= 0) {
    std::int64_t const places = lines_of_tile(stage, t, above).places;
    tile.rows = down < places ? down : places;
    tile.vectors = tile.rows > 1 || across < 2 ? 1 : 2;
  }
  while (tile.vectors > 1 && piece(t.columns) % (tile.vectors * lanes) != 0) --tile.vectors;
  while (piece(t.rows) % tile.rows != 0) --tile.rows;
  if (!in_.searched) return tile;
  tile.rows = choose(stage, "rows", tile.rows, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16}, down < registers - 2 ? down : registers - 2);
  std::int64_t const fitting = registers > 0 ? (registers - 1) / (tile.rows + 1) : 8;
  if (tile.vectors > fitting) tile.vectors = fitting > 0 ? fitting : 1;
  tile.vectors = choose(stage, "vectors", tile.vectors, {1, 2, 3, 4, 5, 6, 8}, fitting < across ? fitting : across);
  return tile;
}
/// Two by two tiles of a matrix unit, whose four operands are each used twice, as far as these divide what there is.
WEFT_DECL register_tile_size rule_plan::tile_of_unit(int stage, tile_axes const& t, intrinsic const& by, std::int64_t lanes) {
  rule_view const v = view();
  auto const at_once = [&](int axis, std::int64_t of) { return v.extent(stage, axis) % (2 * of) == 0 ? 2 * of : of; };
  return {at_once(t.rows, by.rows), at_once(t.columns, by.columns) / lanes, 0};
}
/// Panels of columns that all rows pass by before the next ones come: half of the second cache. A matrix unit takes more in a cycle than any cache further out
/// gives. Of 1024^3 of bf16 by one thread with each panel alone 1.04 TFLOP/s, with 16 of 32 columns 1.3 (an Intel server with 2 MiB, 2026-11-28). 0: all of them.
WEFT_DECL std::int64_t rule_plan::panels_kept_near(product_plan const& p) const {
  rule_view const v = view();
  stage_info const& of = v.stage(p.stage);
  std::int64_t bytes = p.width;  // of a panel
  for (access const& one : v.loads(p.stage))
    if (one.step(p.t.columns) != 0) bytes *= size_bytes(program::at(v.p().tensors, one.tensor).type);
  for (int a = of.spatial; a < of.axes(); ++a) bytes *= v.extent(p.stage, a);
  if (bytes == 0 || in_.l2_bytes == 0) return 0;  // an empty sum
  std::int64_t const panels = v.extent(p.stage, p.t.columns) / p.width, fitting = in_.l2_bytes / (2 * bytes);
  if (fitting >= panels) return 0;
  return ceil_div(panels, ceil_div(panels, fitting < 1 ? 1 : fitting));
}
/// How many terms of the operand that is read for the columns an instruction takes side by side: of a matrix unit a word of them.
inline std::int64_t terms_side_by_side(intrinsic const& by, dtype operand) { return by.is_tile() ? 4 / size_bytes(operand) : by.terms; }
/// What a product reads by instructions and in panels, and its tile of sums; of a second product in the same tile that of the first.
WEFT_DECL rule_plan::product_plan rule_plan::product_of(int stage, tile_axes const& t, product_plan const* first, bool alone) {
  rule_view const before = view();
  std::int64_t const lanes = lanes_of_tile(stage, t.columns), group = before.piece(stage, t.columns);
  product_plan p;
  p.stage = stage, p.t = t;
  int panels = -1;
  p.by = group > 0 ? nullptr : instruction_for(stage, t, panels);
  p.in_slabs = alone && first == nullptr && p.by == nullptr && group == 0 && is_worth_slabs(stage, t);
  sequence<std::int32_t> packed;
  // Rows that are joined are packed as such, where panels come from far away; elsewhere those of each row, or none.
  int joined = p.by == nullptr && t.packed.empty() ? axis_joined(stage, t) : -1;
  bool const far = joined >= 0 && first == nullptr && has_far_memory();
  if (p.by != nullptr) packed.push_back(panels);
  else packed = worth_packing(stage, t, true, far ? joined : -1);
  if (!packed.empty() && !far) joined = -1;
  if (joined >= 0) p.joined = joined, p.row = fuse({before.loop(stage, joined), before.loop(stage, t.columns)});
  bool const large = !packed.empty() && in_.l2_bytes > 0 && before.bytes_of(packed[0]) > static_cast<double>(in_.l2_bytes);
  bool const streamed = p.by == nullptr && large && is_constant(packed[0]) && serves_few_tiles(stage, t, s_.limits.vector_registers / 4);
  if (first == nullptr && p.by != nullptr && p.by->is_tile()) p.tile = tile_of_unit(stage, t, *p.by, lanes);
  else if (first == nullptr) p.tile = tile_for(stage, t, lanes, p.row < 0 ? -1 : trips(p.row), p.in_slabs, streamed, !packed.empty());
  else p.tile = first->tile;
  p.width = first != nullptr ? first->width : p.tile.vectors * lanes;
  int const lines = first == nullptr && p.by == nullptr && packed.size() == 1 ? channels_of_lines(stage, t) : -1;
  std::int32_t image = -1;
  for (access const& one : before.loads(stage))
    if (lines >= 0 && one.step(t.rows) != 0) image = one.tensor;
  int const channels = image >= 0 && choose(stage, pack_name(s_.computation(), image).view(), true) ? lines : -1;
  if (group % p.width != 0) packed = {};
  auto const note_copy = [&](std::int32_t tensor, bool constant, bool by_elements, bool of_columns, auto const& make) {
    short_name const name = pack_name(s_.computation(), tensor).append("_at");
    forks_later_ = true;
    if (int const copy = make(); copy >= 0)
      p.copies.push_back({copy, name, constant, by_elements ? view().iterations(copy) : cycles(copy), of_columns});
    forks_later_ = false;
  };
  auto const copied = [&](std::int32_t tensor, int axis, std::int64_t step, std::int64_t terms_together) {
    bool const by_elements = terms_together > 1 && lanes_to_weave(stage, tensor, axis, step) == 1;
    note_copy(tensor, is_constant(tensor), by_elements, axis == t.columns,
              [&] { return pack(stage, tensor, axis, step, terms_together, axis == t.columns ? channels : -1, axis == t.columns ? p.joined : -1); });
  };
  sequence<std::int32_t> by_rows;
  if (p.by == nullptr) by_rows = rows_worth_packing(stage, t, p.tile.rows, p.in_slabs);
  for (std::int32_t tensor : packed)
    copied(tensor, t.columns, p.width, p.by != nullptr ? terms_side_by_side(*p.by, program::at(before.p().tensors, tensor).type) : 1);
  for (std::int32_t tensor : by_rows) copied(tensor, t.rows, p.tile.rows, 1);
  if (channels >= 0) note_copy(image, false, false, false, [&] { return copy_by_lines(stage, image, channels); });
  rule_view const v = view();
  p.own = group > 0;  // what it reads for its rows, then, and a line of the cache may have several groups
  for (access const& one : v.loads(stage)) p.own = p.own || (t.rows >= 0 && one.step(t.columns) != 0 && one.step(t.rows) != 0);
  p.scattered = packed.empty() && has_scattered_rows(stage, t);
  p.by_long_rows = p.scattered && !takes_terms_near(p) && reads_long_rows(p);
  // Of panels that are copied in the loop over them nothing comes from far away.
  bool const from_far = !p.copies.empty() && (p.copies[0].constant || !has_far_memory());
  if (!packed.empty() && from_far && serves_few_tiles(stage, t, p.tile.rows)) {
    int const copy = program::at(v.p().stages, p.copies[0].stage).tensor;
    if (in_.l2_bytes > 0 && v.bytes_of(copy) > static_cast<double>(in_.l2_bytes)) p.streamed = copy;
  }
  return p;
}
/// Of which a panel of rows takes seven eighths of the first cache: 512 of 14 rows of f32 of 32 KiB.
WEFT_DECL std::int64_t rule_plan::terms_of_slab(int stage) const {
  std::int64_t const row = widest_bytes(s_.computation(), view().stage(stage)) * ((s_.limits.vector_registers - 3) / 2);
  std::int64_t const fitting = in_.l1_bytes * 7 / 8 / (row > 0 ? row : 1);
  return fitting > 8 ? fitting : 8;
}
/// Of panels of rows and of columns that are both packed: two vectors, and as many rows as registers hold. From the second cache a vector comes in two to
/// three cycles, in which two units multiply four or more: so many rows have each of them, and rows of a packed panel do not meet in a set of the first cache.
WEFT_DECL register_tile_size rule_plan::tile_of_slabs(std::int64_t rows, std::int64_t registers) const {
  register_tile_size best{1, 2, 0};
  std::int64_t const most = (registers - 3) / 2;
  for (std::int64_t r = most; r >= 1 && r >= most - 2; --r) {
    double const cycles = static_cast<double>(ceil_div(rows, r)) * (static_cast<double>(r) + 0.5);
    if (best.cycles == 0 || cycles < 0.97 * best.cycles) best = {r, 2, cycles};
  }
  return best;
}
/// Whether a product whose operands come from far away is computed in slabs of terms, as Goto and van de Geijn do ("Anatomy of high-performance matrix
/// multiplication", TOMS 2008): of each the rows are packed once, and some panels of columns at a time, for the second cache, which all rows pass by.
///
///     for slabs of terms: { copy the rows' terms; for blocks of columns: { copy them; for tiles of rows: for panels: for terms: sums += .. } }
///
/// Elsewhere rows come in time as they lie, from the last cache, and sums need not wait for other slabs. A row that is packed costs some three cycles an
/// element, which pays where rows would come from memory with each panel (Cascade Lake, beside panels packed by the first tile: 2048^3 0.93, 4096^3 1.4).
WEFT_DECL bool rule_plan::is_worth_slabs(int stage, tile_axes const& t) const {
  rule_view const v = view();
  stage_info const& of = v.stage(stage);
  if (!has_far_memory() || s_.limits.vector_registers < 16 || t.rows < 0 || !t.packed.empty() || of.axes() != of.spatial + 1 || of.results != 1) return false;
  for (int a = 0; a < of.spatial; ++a)
    if (a != t.columns && a != t.rows && v.extent(stage, a) != 1) return false;
  // Of more terms than a panel keeps in the second cache, fewer columns will do; of fewer, rows have to come from memory with each panel.
  double const panel = static_cast<double>(v.extent(stage, of.spatial) * 4 * v.lanes(stage) * widest_bytes(v.p(), of));
  bool const few_panels = panel > static_cast<double>(in_.l2_bytes) / 2;
  double read_again = 0;
  for (access const& one : v.loads(stage))
    if (one.step(t.columns) == 0) read_again += v.bytes_of(one.tensor);
  if (!few_panels && read_again < static_cast<double>(in_.l3_bytes) / 2) return false;
  double const often = (few_panels ? 20 : 64) * in_.copy_reads;
  if (static_cast<double>(v.extent(stage, t.rows)) < 4 * in_.copy_reads || static_cast<double>(v.extent(stage, t.columns)) < often || v.extent(stage, of.spatial) < 2 * terms_of_slab(stage))
    return false;
  if (v.result(stage).step(t.columns) != 1) return false;
  int rows = 0, columns = 0;
  for (access const& one : v.loads(stage)) {
    bool const by_rows = one.step(t.rows) != 0, by_columns = one.step(t.columns) != 0;
    if (by_rows == by_columns || is_constant(one.tensor) || !can_pack(stage, one.tensor, by_rows ? t.rows : t.columns)) return false;
    ++(by_rows ? rows : columns);
  }
  return rows == 1 && columns == 1;
}

}  // namespace detail
}  // namespace weft::inline WEFT_ABI
