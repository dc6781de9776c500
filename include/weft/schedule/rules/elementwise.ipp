#include "weft/schedule/rules/planner.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

/// The axis whose iterations become lanes: that along which most accesses are contiguous or stay, and whose vectors are full. `joined`: iterations of the last
/// one, where others go on with it (0: its own).
WEFT_DECL int rule_plan::vector_axis(rule_view const& v, int stage, sequence<access> const& all, std::int64_t joined) const {
  stage_info const& of = v.stage(stage);
  double const lanes = static_cast<double>(v.lanes(stage));
  int best = -1;
  double least = 0;
  for (int a = 0; a < of.spatial; ++a) {
    std::int64_t const own = v.extent(stage, a), e = a + 1 == of.spatial && joined > 0 ? joined : own;
    if (a == of.scanned || own == 0 || own == 1) continue;
    double cost = 0;
    for (access const& one : all) cost += one.step(a) == 0 ? 0.1 : one.step(a) == 1 ? 1 : lanes;
    double const full = e < 0 ? 1 : static_cast<double>(e) / (lanes * static_cast<double>(ceil_div(e, v.lanes(stage))));
    cost /= full;
    if (best < 0 || cost <= least) best = a, least = cost;
  }
  return best;
}
/// The first of the innermost axes over which all accesses walk without a gap; the last one, where it is alone.
WEFT_DECL int rule_plan::first_joined(int stage, int first_axis, sequence<access> const& all) const {
  rule_view const v = view();
  int const rank = v.stage(stage).spatial;
  int first = rank - 1;
  auto const joins = [&](int a) {
    if (is_asked(stage, a)) return false;
    std::int64_t const inner = v.extent(stage, a + 1);
    for (access const& one : all) {
      std::int64_t const x = one.step(a), y = one.step(a + 1);
      if (inner < 0 || x == no_step || y == no_step || x != y * inner) return false;
    }
    return v.extent(stage, a) >= 0;
  };
  while (first > first_axis && joins(first - 1)) --first;
  return first;
}
/// Makes one loop of those; -1: of fewer than two.
WEFT_DECL int rule_plan::merged(int stage, int first_axis, sequence<access> const& all) {
  rule_view const v = view();
  int const rank = v.stage(stage).spatial, first = first_joined(stage, first_axis, all);
  if (first >= rank - 1) return -1;
  sequence<std::int32_t> loops;
  for (int a = first; a < rank; ++a) loops.push_back(v.loop(stage, a));
  return fuse(loops);
}

/// The loop over `other`, along which something lies side by side that is read across. Where it is short, that over all axes which are one row with it there, as
/// over the channels and the window of a convolution's weights, whatever they are in the result.
WEFT_DECL int rule_plan::row_across(int stage, int first_axis, int axis, int other, sequence<access> const& all) {
  rule_view const v = view();
  sequence<std::int32_t> row(1, v.loop(stage, other)), axes(1, other);  // outermost first
  std::int64_t length = v.extent(stage, other);
  auto const is_next = [&](int a) {
    bool next = a != axis && v.extent(stage, a) > 1 && !is_asked(stage, a);
    for (access const& one : all) next = next && (one.step(other) != 1 || one.step(axis) == 1 || one.step(a) == length);
    for (std::int32_t taken : axes) next = next && a != taken;
    return next;
  };
  constexpr std::int64_t short_row = 16;
  for (int a = first_axis; length > 0 && length < short_row && a < v.stage(stage).spatial; ++a)
    if (is_next(a)) {
      row.insert(row.begin(), v.loop(stage, a)), axes.push_back(static_cast<std::int32_t>(a));
      length *= v.extent(stage, a), a = first_axis - 1;
    }
  if (row.size() == 1) return row[0];
  sequence<std::int32_t> order;
  for (std::int32_t l : s_.order[static_cast<std::size_t>(stage)]) {
    bool taken = l == v.loop(stage, axis);
    for (std::int32_t joined : row) taken = taken || l == joined;
    if (!taken) order.push_back(l);
  }
  for (std::int32_t l : row) order.push_back(l);
  order.push_back(v.loop(stage, axis));
  reorder(order);
  return fuse(row);
}

/// Whether `stage` reads `tensor` at a place that is read itself: any of it, then.
inline bool is_picked(program const& p, int stage, int tensor) {
  bool found = false;
  each_load(p, stage, [&](node const& x) {
    for (int d = 0; x.a == tensor && d < x.c; ++d)
      each_part(p, program::at(p.operands, x.b + d), [&](node const& n) { found = found || n.kind == op::load; });
  });
  return found;
}
/// The loops of a stage that reduces nothing, behind the first axes; alone: they are all of its nest's.
WEFT_DECL void rule_plan::elementwise(int stage, int first_axis, bool alone) {
  rule_view const v = view();
  stage_info const of = v.stage(stage);
  sequence<access> all = v.inside().loads(stage);
  all.push_back(v.result(stage));
  double const work = v.operations(stage);
  std::int64_t const lanes = v.lanes(stage);
  std::int64_t joined = 1;
  for (int a = alone && of.scanned < 0 && of.spatial > 0 ? first_joined(stage, first_axis, all) : of.spatial; a < of.spatial; ++a) joined *= v.extent(stage, a);
  int const axis = of.spatial > first_axis ? vector_axis(v, stage, all, joined > 1 ? joined : 0) : -1;
  // What is contiguous along another axis is read by whole cache lines where both run in a tile. Rows that are picked by a number are on lines of their
  // own: short ones are not worth a tile. Nor are two or three elements, unless others lie behind them (row_across).
  int other = -1;
  for (access const& one : all)
    for (int a = first_axis; a < of.spatial; ++a) {
      bool const turned = axis >= first_axis && a != axis && a != of.scanned && one.step(a) == 1 && one.step(axis) != 0 && one.step(axis) != 1;
      std::int64_t const length = v.extent(stage, a);
      bool goes_on = length < 0;
      for (int b = first_axis; b < of.spatial; ++b) goes_on = goes_on || (b != a && b != axis && one.step(b) == length);
      if (turned && length != 1 && (length >= 4 || (goes_on && !is_picked(v.p(), stage, one.tensor)))) other = a;
    }
  double const total = cycles(stage) * (other >= 0 ? 4 : 1);  // 64 instructions turn over 16 vectors
  if (of.scanned >= 0 && alone && axis >= first_axis && scan(stage, axis, all)) return;
  int whole = -1;
  if (alone && of.scanned < 0 && axis == of.spatial - 1 && other < 0) {
    sequence<access> everywhere = v.loads(stage);  // a row's ends, where an index is kept within bounds, are in the middle of a loop over rows
    everywhere.push_back(v.result(stage));
    whole = merged(stage, first_axis, everywhere);
  }
  if (whole < 0 && other < 0 && of.scanned < 0 && axis == of.spatial - 1) {
    parts const lane = cut_short_axes(stage, first_axis, work <= 8 ? 4 : work <= 20 ? 2 : 1);
    if (lane.inner >= 0) {
      sequence<std::int32_t> rest;
      for (std::int32_t l : s_.order[static_cast<std::size_t>(stage)])
        if (l != lane.inner) rest.push_back(l);
      rest.push_back(static_cast<std::int32_t>(lane.inner));
      reorder(rest);
      mark(verb::vectorize, lane.inner);
      if (!alone) return;
      rest.pop_back();
      run_parallel(rest, total);
      store_past_caches(stage);
      return;
    }
  }
  if (other >= 0 && alone && of.scanned < 0 && work <= 8 && turn_tiles(stage, axis, other, all, total)) return;
  int across = other >= 0 ? v.loop(stage, other) : -1;
  if (other >= 0 && alone && of.scanned < 0 && work <= 8) across = row_across(stage, first_axis, axis, other, all);
  sequence<std::int32_t> around, inside;
  for (std::int32_t l : s_.order[static_cast<std::size_t>(stage)]) {
    bool const tiled = axis >= first_axis && (l == whole || l == v.loop(stage, axis) || l == across);
    if (!tiled) (s_.at(l).scanned ? inside : around).push_back(l);
  }
  if (axis < first_axis) {
    if (alone) run_parallel(around, total);
    return;
  }
  // Squares of as many rows as a vector has lanes, or fewer where an axis is shorter, are turned over in registers; a few next to each other, so that few pages are
  // opened for little.
  std::int64_t side = lanes < 16 ? lanes : 16;
  while (other >= 0 && side >= 4 && (v.extent(stage, axis) < side || trips(across) < side)) side /= 2;
  if (other >= 0 && of.scanned < 0 && work <= 8 && side >= 4) {
    std::int64_t const squares = choose(stage, "squares", 4, {1, 2, 8});
    // Squares are whole: the last one begins earlier, or, since what is computed twice is not to be seen by another thread, is a loop.
    tail const at_end = around.empty() && is_worth_a_fork(total) ? tail::partition : tail::shift_inwards;
    parts const square = cut(across, side, at_end), columns = cut(square.outer, squares);
    parts const row = cut(v.loop(stage, axis), side, at_end);
    around.push_back(columns.outer);
    around.push_back(row.outer);
    sequence<std::int32_t> order = around;
    for (int l : {columns.inner, square.inner, row.inner}) order.push_back(l);
    reorder(order);
    mark(verb::unroll, square.inner);
    mark(verb::vectorize, row.inner);
    if (!alone) return;
    run_parallel(around, total);
    store_past_caches(stage);
    return;
  }
  std::int64_t together = (alone || rows_of_guests_ > 1) && other < 0 && inside.empty() ? rows_that_share(stage, axis, alone ? 0.667 : enough_shared) : 1;
  if (!alone && together > rows_of_guests_) together = rows_of_guests_;
  if (together > 1) {
    parts const some = cut(v.loop(stage, of.spatial - 2), together), lane = cut(v.loop(stage, axis), lanes);
    sequence<std::int32_t> order;
    for (int a = 0; a + 2 < of.spatial; ++a) order.push_back(v.loop(stage, a));
    around = order;
    around.push_back(some.outer);
    for (int l : {some.outer, lane.outer, some.inner, lane.inner}) order.push_back(l);
    reorder(order);
    mark(verb::unroll, some.inner);
    mark(verb::vectorize, lane.inner);
    if (!alone) return;
    run_parallel(around, total);
    store_past_caches(stage);
    return;
  }
  bool const tile = other >= 0;
  std::int64_t const vectors = tile ? 1 : choose(stage, "vectors", work <= 8 ? 4 : work <= 20 ? 2 : 1, {1, 2, 4, 8});
  std::int64_t const line = 64 / size_bytes(program::at(v.p().tensors, of.tensor).type);
  // Several lines of each row that is read, so that few pages are opened for little.
  parts const rows = tile ? cut(across, choose(stage, "lines", 8, {1, 2, 4, 16}) * line) : parts{};
  parts lane = cut(whole >= 0 ? whole : v.loop(stage, axis), tile ? 16 : lanes * vectors);
  around.push_back(rows.outer);
  around.push_back(lane.outer);
  sequence<std::int32_t> order = around;
  for (std::int32_t l : inside) order.push_back(l);
  order.push_back(rows.inner);
  parts half{-1, lane.inner};
  if (alone && !tile && inside.empty() && has_half_vectors(stage, work)) half = cut(lane.inner, lanes / 2);
  order.push_back(half.outer);
  order.push_back(half.inner);
  reorder(order);
  mark(verb::unroll, half.outer);
  lane.inner = half.inner;
  // Gathers take longer than scalar loads: 16 lanes some 40 cycles (Zen 4).
  mark(tile && work <= 4 ? verb::unroll : verb::vectorize, lane.inner);
  if (!alone) {  // of a row's stages the one that computes most, while which memory waits
    if (work > 12 && in_.l2_bytes > 0) ask_ahead(stage, lane.outer, axis, lanes * vectors, static_cast<double>(in_.l2_bytes));
    ask_for_result(stage, lane.outer, lanes * vectors);
    return;
  }
  run_parallel(around, total);
  if (tile) return copy_tiles(stage, all, axis, other, lane.outer);
  if (!inside.empty()) return void(store_past_caches(stage));
  if (ask_for_result(stage, lane.outer, lanes * vectors) || store_past_caches(stage))
    ask_ahead(stage, lane.outer, axis, lanes * vectors, 4 * static_cast<double>(in_.l2_bytes));
}
/// Turns tiles over on the stack, whose rows are whole lines of both tensors, and stores them by rows, past the caches where those are whole lines, too: where memory is far. Squares that are stored
/// at once open a page for each line (f32, a server with AMX, GB/s by one thread and by two: 4096 x 4096 5.9 -> 19.7 and 20 -> 42, 1024 x 1024 18 -> 26 and 41 -> 60, 1000 x 1000 15 -> 19;
/// in intrinsics squares past the caches 14.6, a copy 25).
WEFT_DECL bool rule_plan::turn_tiles(int stage, int axis, int other, sequence<access> const& all, double total) {
  rule_view const v = view();
  stage_info const of = v.stage(stage);
  int const across = of.spatial - 1, down = axis == across ? other : axis;
  std::int64_t const size = size_bytes(program::at(v.p().tensors, of.tensor).type), line = 64 / size, lanes = v.lanes(stage), side = lanes < 16 ? lanes : 16;
  double bytes = 0;
  bool turned = false, straight = false;
  for (access const& one : all) {
    bytes += v.bytes_of(one.tensor);
    turned = turned || one.step(down) == 1;
    straight = straight || (one.step(across) == 1 && one.tensor != of.tensor);
  }
  std::int64_t const height = 4 * line, width = (straight ? 2 * (size < 4 ? size : 4) : 2) * line;  // 32 KiB at most
  bool const fits = v.extent(stage, across) >= width && v.extent(stage, down) >= height, far = has_far_memory() && bytes > static_cast<double>(in_.l2_bytes);
  bool const is_one_tile = of.spatial == 2 && v.extent(stage, across) == width && v.extent(stage, down) == height;  // no loop is around it
  if (!turned || !fits || is_one_tile || (axis != across && other != across) || in_.in_place || !v.is_output(stage) || !choose(stage, "turned_aside", far)) return false;
  int const tile = add_stage(verb::cache_write, stage, -1);
  if (tile < 0) return false;
  rule_view const now = view();
  sequence<std::int32_t> order;
  for (std::int32_t l : s_.order[static_cast<std::size_t>(stage)])
    if (l != now.loop(stage, across) && l != now.loop(stage, down)) order.push_back(l);
  parts const columns = cut(now.loop(stage, across), width, tail::partition), rows = cut(now.loop(stage, down), height, tail::partition);
  parts const lane = cut(columns.inner, lanes);
  order.push_back(columns.outer), order.push_back(rows.outer);
  sequence<std::int32_t> const around = order;
  for (int l : {rows.inner, lane.outer, lane.inner}) order.push_back(l);
  reorder(order);
  mark(verb::unroll, lane.outer);
  mark(verb::vectorize, lane.inner);
  run_parallel(around, total);
  if (v.extent(stage, across) % line == 0) place(verb::store_non_temporal, stage);
  int innermost = -1;  // a size that is one tile's has no outer loop
  for (std::int32_t l : around) innermost = l >= 0 ? l : innermost;
  if (!place(verb::compute_at, tile, innermost)) return true;
  parts const square = cut(now.loop(tile, down), side), row = cut(now.loop(tile, across), side);
  reorder({row.outer, square.outer, square.inner, row.inner});
  mark(verb::unroll, square.inner);
  mark(verb::vectorize, row.inner);
  return true;
}
/// Brings what a tile reads across its rows onto the stack, line by line: in memory the lines of a tile may be so far apart
/// that all fall into one set of a cache.
WEFT_DECL void rule_plan::copy_tiles(int stage, sequence<access> const& all, int axis, int other, int at) {
  if (how_ == boldness::loops || at < 0) return;
  for (access const& one : all) {
    if (one.step(axis) == 0 || one.step(axis) == 1 || one.step(other) != 1 || one.tensor == view().stage(stage).tensor) continue;
    if (is_picked(view().p(), stage, one.tensor)) continue;  // a copy would be of all of it
    int const copy = add_stage(verb::cache_read, stage, one.tensor);
    if (copy < 0 || !place(verb::compute_at, copy, at)) continue;
    rule_view const now = view();
    for (int a = 0; a < now.stage(copy).spatial; ++a)
      if (now.strides(one.tensor)[static_cast<std::size_t>(a)] == 1 && a + 1 == now.stage(copy).spatial) mark(verb::vectorize, now.loop(copy, a));
  }
}
/// Whether all that a nest touches fills the last cache: then what it writes need not be read first. Several threads of one such cache store no more past it than one does nearly alone (f32, EPYC,
/// Zen 4: 25 GB/s by one, 28 by two, whatever the kernel), so where they go through an array once it fills it when it is larger by a quarter: exp of 16 MiB to 16 MiB by two threads past
/// it 53 GB/s, through it 58 to 74, where it holds other things at first 50 and 51 to 54; of 24 MiB 53 and 51. Rows of several stages wait for what they store through it (softmax 52 and 44).
WEFT_DECL bool rule_plan::fills_caches(int stage) const {
  rule_view const v = view();
  double bytes = v.bytes_of(v.stage(stage).tensor);
  double const written = bytes;
  for (access const& one : v.loads(stage)) bytes += v.bytes_of(one.tensor);
  double const cache = static_cast<double>(in_.past_far_bytes > 0 ? in_.past_far_bytes : in_.l3_bytes);
  bool const shared = in_.threads > 1 && !has_far_memory() && guests_of(stage).empty();
  return cache > 0 && bytes >= cache * (shared ? 1.25 : 1) && 4 * written > cache && !in_.in_place;
}
/// Whether next to nothing is done for each element, which comes from beyond the second cache and goes back there: then vectors of half a
/// line are faster than whole ones (f32, EPYC, Zen 4, 2^20: add 83 -> 91 GB/s, saxpy in place 135 -> 149, scale 90 -> 95, copy 94 -> 96; 2^26:
/// saxpy in place 48 -> 52 in intrinsics; decision 068). With two units for whole ones that is so of one tensor that is read and one that is written (Zen 5: copy, scale 2 to 3 %; by
/// halves saxpy 6 % slower, sum of 2^26 3, a product of a 4096 x 4096 matrix and a vector 19). Stores past the caches want whole lines, and so does what is read again soon where memory is far.
WEFT_DECL bool rule_plan::has_half_vectors(int stage, double work) {
  rule_view const v = view();
  double bytes = v.bytes_of(v.stage(stage).tensor);
  for (access const& one : v.loads(stage)) bytes += v.bytes_of(one.tensor);
  bool const far = in_.l2_bytes > 0 && bytes > 2 * static_cast<double>(in_.l2_bytes);
  if (has_far_memory() && !v.is_output(stage)) return false;
  bool one_tensor = v.stage(stage).reduced == 0;
  for (access const& one : v.loads(stage)) one_tensor = one_tensor && one.tensor == v.loads(stage)[0].tensor;
  return work <= 4 && far && !fills_caches(stage) && (v.stage(stage).reduced > 0 || !goes_far(stage)) && s_.limits.vector_bytes == 64 && choose(stage, "half_vectors", one_tensor || !has_two_units());
}
WEFT_DECL bool rule_plan::store_past_caches(int stage) {
  bool large = fills_caches(stage);
  rule_view const v = view();
  for (fetch_ahead const& f : s_.fetches) large = large && f.tensor != v.stage(stage).tensor;  // its lines are asked for
  bool const small = 4 * v.bytes_of(v.stage(stage).tensor) < static_cast<double>(in_.l2_bytes);
  if (in_.in_place || (!large && (!in_.searched || small))) return false;
  return choose(stage, "past_caches", large) && place(verb::store_non_temporal, stage);
}
/// Whether memory is far and a stage's result may be there. Its lines then come as they are asked for, some of them at the same time: stores wait for one after the other,
/// and stores past the caches are no faster than memory takes them (f32, Cascade Lake, by one thread: scale of 2^26 9.5 -> 12.5 GB/s, past the caches 9.0; of 2^22
/// 14.9 -> 19.8; softmax of 4096 x 1024 10 -> 13). Tiles and strips of an image, whose rows are short, are faster past the caches; so is, on a server with AMX, what is large
/// (rule_input::past_far_bytes).
WEFT_DECL bool rule_plan::goes_far(int stage) const {
  rule_view const v = view();
  sequence<std::int32_t> counted(1, v.stage(stage).tensor);
  double bytes = v.bytes_of(counted[0]);
  for (access const& one : v.loads(stage)) {
    bool known = false;
    for (std::int32_t t : counted) known = known || t == one.tensor;
    if (!known) counted.push_back(one.tensor), bytes += v.bytes_of(one.tensor);
  }
  return has_far_memory() && !in_.in_place && v.is_output(stage) && 4 * bytes >= static_cast<double>(in_.l3_bytes) && (in_.past_far_bytes == 0 || !fills_caches(stage));
}
/// Asks in a loop over vectors of `width` elements for what is written 4 KiB further on.
WEFT_DECL bool rule_plan::ask_for_result(int stage, int l, std::int64_t width) {
  if (l < 0 || !goes_far(stage)) return false;
  rule_view const v = view();
  step ahead{verb::prefetch, 1, {l}, 4096 / (width * size_bytes(program::at(v.p().tensors, v.stage(stage).tensor).type))};
  ahead.tensor = v.stage(stage).tensor;
  return ahead.factor >= 1 && may(ahead) && take(ahead);
}
/// Asks in a loop over vectors of `width` elements along `axis` for what is read `ahead` bytes further on, of tensors of more bytes than so many:
/// the processor's own prefetcher stops at the end of a page. Beside stores past the caches, that is; where nothing is stored, or
/// what is stored was read before, it is in the way (f32, EPYC, Zen 4: copy of 2^26 37 -> 42 GB/s, sum of 2^22 61 -> 46). A row that
/// is worked on for long gains from the third cache, too: softmax of 512 x 1024 27 -> 30.
WEFT_DECL void rule_plan::ask_ahead(int stage, int l, int axis, std::int64_t width, double least_bytes, std::int64_t ahead) {
  rule_view const v = view();
  sequence<std::int32_t> asked;
  for (access const& one : v.loads(stage)) {
    tensor_info const& t = program::at(v.p().tensors, one.tensor);
    bool known = one.step(axis) != 1 || t.stage >= 0 || v.bytes_of(one.tensor) <= least_bytes;
    for (std::int32_t other : asked) known = known || other == one.tensor;
    std::int64_t const distance = ahead / (width * size_bytes(t.type));
    if (known || distance < 1) continue;
    step asks{verb::prefetch, 1, {l}, distance};
    asks.tensor = one.tensor;
    if (l >= 0 && may(asks) && take(asks)) asked.push_back(one.tensor);
  }
}

/// The loops of a stage that is computed inside those of another.
WEFT_DECL void rule_plan::guest(int stage, int depth) {
  if (view().stage(stage).reduced == 0) return elementwise(stage, depth, false);
  if (in_parts(stage)) return;
  tile_axes const t = axes_of_tile(stage);
  if (t.columns >= depth && t.packed.empty()) return tile_of_guest(stage, t, depth);
  if (t.columns < 0 && !sums_in_lanes(stage, depth)) in_short_parts(stage);
}
/// Rows one after the other, all that a row needs inside of its iteration; some at a time, where one of these stages is a product that
/// uses what it reads for several rows.
WEFT_DECL void rule_plan::rows_with_guests(int stage) {
  if (products_apart(stage)) return nest_of(stage);
  sequence<std::int32_t> const guests = guests_of(stage);
  int depth = view().stage(stage).spatial;
  for (std::int32_t g : guests)
    if (int const d = depth_[static_cast<std::size_t>(g)]; d < depth) depth = d;
  // One element after the other has no vectors: rows of them, then.
  if (int const last = view().stage(stage).spatial - 1; depth > last && last > 0 && view().stage(stage).reduced == 0) {
    // Under a mask a row of a few is a vector, too.
    bool rows = view().extent(stage, last) >= (s_.limits.vector_bytes == 64 ? 2 : view().lanes(stage));
    for (std::int32_t g : guests) rows = rows && (view().stage(g).reduced == 0 || (axes_of_tile(g).columns < 0 && can_sum_in_lanes(g, last)));
    if (rows) depth = last;
  }
  double const total = cycles(stage);
  std::int64_t const at_once = rows_at_once(stage, guests, depth);
  if (at_once == 1 && rows_in_one_loop(stage, guests, depth, total)) return;
  auto const product = [&](int s) {
    tile_axes const t = axes_of_tile(s);
    bool const rows = at_once > 1 && t.rows == depth - 1;
    if (view().stage(s).reduced == 0 || t.columns < depth || (!rows && !t.packed.empty())) return false;
    tile_of_guest(s, t, depth, rows ? at_once : 1);
    return true;
  };
  for (std::int32_t g : guests) {
    bool const by_rows = at_once > 1 && axes_of_tile(g).rows == depth - 1;
    if (!by_rows || !product(g)) guest(g, depth);
  }
  stage_info const of = view().stage(stage);
  parts last{};
  if (of.reduced > 0) {
    if (at_once > 1) last = split(view().loop(stage, depth - 1), at_once);
    if (!product(stage)) in_parts(stage);
  } else {
    elementwise(stage, depth, false);
    if (at_once > 1) last = split(view().loop(stage, depth - 1), at_once);
  }
  sequence<std::int32_t> rows;
  for (int a = 0; a < depth; ++a) rows.push_back(a + 1 == depth && last.outer >= 0 ? last.outer : view().loop(stage, a));
  std::int64_t outermost = trips(rows[0]);
  if (depth > 1 && outermost >= 0 && outermost < 4 * in_.threads && is_worth_a_fork(total))
    if (int const all = fuse(rows); all >= 0) rows = {all};
  run_parallel(rows, total);
  for (std::size_t i = guests.size(); i-- > 0;) place(verb::compute_at, guests[i], rows.back());
  if (of.reduced == 0) store_past_caches(stage);
}
/// Whether a product, of which `stage` computes rows, takes less time in a nest of its own: what it reads for all rows comes anew for each few
/// of them, from the third cache at some 12 bytes a cycle or from memory at 5, and else its result goes there and back (20 GB/s each way). Its
/// result is at most half of the last cache that is known: rows need memory for a few of them, a nest of its own for all.
///
/// In a row there may be no tile for it, where its lanes run along an axis outside of the row, or what they read has to be copied: then its terms are
/// added one by one. In a row by itself each vector that it loads serves one row of sums, which takes 2.5 times as long (56 x 56 x 32 by 3 x 3 x 32, followed by
/// another such: 3.3 ms in rows, 0.8 apart; Cascade Lake).
WEFT_DECL bool rule_plan::is_better_apart(int product, int depth) const {
  rule_view const v = view();
  stage_info const& of = v.stage(product);
  tile_axes const t = of.reduced > 0 ? axes_of_tile(product) : tile_axes();
  if (t.columns < 0 || in_.l2_bytes == 0) return false;
  std::int64_t const down = v.extent(product, depth - 1), across = v.extent(product, t.columns);
  bool const by_rows = t.rows == depth - 1 && down > 1, has_tile = t.columns >= depth && (t.packed.empty() || by_rows);
  double const l3 = static_cast<double>(in_.l3_bytes), last = l3 > 0 ? l3 : static_cast<double>(in_.l2_bytes);
  bool const in_cache = v.bytes_of(of.tensor) <= last / 2;
  if (across < 1 || (has_tile && !in_cache)) return false;
  double const rows = by_rows ? static_cast<double>(best_tile(down, across, v.lanes(product), s_.limits.vector_registers).rows) : 1;
  double again = 0, once = 0;  // cycles
  for (access const& one : v.loads(product)) {
    if (one.step(t.columns) == 0 || one.step(depth - 1) != 0) continue;
    double part = v.bytes_of(one.tensor), times = static_cast<double>(down) / rows;
    for (int a = 0; a < depth - 1; ++a) {
      double const n = static_cast<double>(v.extent(product, a) < 1 ? 1 : v.extent(product, a));
      times *= n;
      if (one.step(a) != 0) part /= n;
    }
    if (part <= static_cast<double>(in_.l2_bytes) / 2) continue;
    double const rate = l3 == 0 || part <= l3 / 2 ? (in_.l3_bytes_per_cycle > 0 ? in_.l3_bytes_per_cycle : 12) : 5;
    again += part * times / rate, once += v.bytes_of(one.tensor) / rate;
  }
  double const terms = v.iterations(product), work = terms / static_cast<double>(v.lanes(product) * (has_far_memory() || has_two_units() ? 2 : 1));
  double const inside = !has_tile ? terms : rows == 1 && t.rows >= 0 ? 2.5 * work : work;
  double const stored = v.bytes_of(of.tensor), far = stored > static_cast<double>(in_.l2_bytes) / 2 ? 2 * stored / (in_cache ? 6 : 4) : 0;
  return (inside > again ? inside : again) * 0.9 > (work > once ? work : once) + far;
}
/// Takes such products out of the rows of `stage`, and what they read of what is computed there; false: there are none. Of what is left of
/// the rows then this is not asked again: a knob has one name.
WEFT_DECL bool rule_plan::products_apart(int stage) {
  if (parted_.size() < host_.size()) parted_.resize(host_.size(), false);
  if (parted_[static_cast<std::size_t>(stage)]) return false;
  parted_[static_cast<std::size_t>(stage)] = true;
  sequence<std::int32_t> const guests = guests_of(stage);
  int depth = view().stage(stage).spatial;
  for (std::int32_t g : guests)
    if (int const d = depth_[static_cast<std::size_t>(g)]; d < depth) depth = d;
  sequence<sequence<std::int32_t>> const readers = needed_readers();
  sequence<bool> apart(readers.size(), false);
  // Where `stage` is a product that has no tile beside what is computed in its rows, that goes.
  bool const alone = view().stage(stage).reduced > 0 && axes_of_tile(stage).columns >= 0 && choose(stage, "apart", is_better_apart(stage, depth));
  // A sum over what a product makes has parts of its own, which read that in the sum's place.
  bool const summed = !alone && guests.size() == 1 && view().stage(stage).reduced > 0 && axes_of_tile(stage).columns < 0;
  bool any = alone;
  for (int t = stage - 1; t >= 0; --t) {
    auto const at = static_cast<std::size_t>(t);
    bool own = alone;
    for (std::int32_t r : readers[at]) own = own || apart[static_cast<std::size_t>(r)];
    if (!s_.places[at].inlined) {
      if (host_[at] != stage) continue;
      if (!own && view().stage(t).reduced > 0 && axes_of_tile(t).columns >= 0) own = choose(t, "apart", summed || is_better_apart(t, depth));
      any = any || own;
    }
    apart[at] = own;
  }
  for (std::int32_t g : guests) {
    if (!apart[static_cast<std::size_t>(g)]) continue;
    host_in(g, g);
    nest_of(g);
  }
  return any;
}
/// How many rows share what a product in them reads.
WEFT_DECL std::int64_t rule_plan::rows_at_once(int stage, sequence<std::int32_t> const& guests, int depth) {
  sequence<std::int32_t> all = guests;
  all.push_back(stage);
  std::int64_t found = 1, longest = 1;
  double most = 0;
  rule_view const v = view();
  for (std::int32_t s : all) {
    if (v.extent(s, depth - 1) > longest) longest = v.extent(s, depth - 1);
    if (v.stage(s).reduced == 0 || v.extent(s, depth - 1) < 2) continue;
    tile_axes const t = axes_of_tile(s);
    if (t.columns < depth || t.rows != depth - 1 || v.extent(s, t.columns) < 1 || v.iterations(s) <= most) continue;
    most = v.iterations(s);
    found = best_tile(v.extent(s, t.rows), v.extent(s, t.columns), v.lanes(s), s_.limits.vector_registers).rows;
  }
  return choose(stage, "rows", found, {1, 2, 4, 6, 8, 12}, longest);
}

}  // namespace detail
}  // namespace weft::inline WEFT_ABI
