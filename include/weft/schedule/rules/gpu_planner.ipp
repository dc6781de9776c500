#include "weft/schedule/rules/gpu_planner.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

// --- steps ------------------------------------------------------------------------------------------------------
WEFT_DECL void gpu_plan::bind(int l, thread_axis to) {
  step one{verb::bind, 1, {l}};
  one.word = static_cast<std::uint8_t>(to);
  if (l < 0 || (is_open(l) && is_thread(static_cast<loop_kind>(static_cast<int>(loop_kind::virtual_thread) + one.word)))) return;
  take(one);
}
WEFT_DECL int gpu_plan::fused(sequence<std::int32_t> const& loops) {
  sequence<std::int32_t> all;
  for (std::int32_t l : loops)
    if (l >= 0) all.push_back(l);
  return all.empty() ? -1 : fuse(all);
}
WEFT_DECL int gpu_plan::grid(sequence<std::int32_t> const& loops) {
  sequence<std::int32_t> all;
  for (std::int32_t l : loops)
    if (l >= 0) all.push_back(l);
  if (all.empty()) return -1;
  if (all.size() == 2 && trips(all[0]) > 0 && trips(all[0]) < 65536 && !is_open(all[0])) {
    bind(all[0], thread_axis::block_y);
    bind(all[1], thread_axis::block_x);
    return all[1];
  }
  int const whole = fuse(all);
  bind(whole, thread_axis::block_x);
  return whole;
}
WEFT_DECL sequence<std::int32_t> gpu_plan::open_first(sequence<std::int32_t> const& loops) const {
  sequence<std::int32_t> all;
  for (bool open : {true, false})
    for (std::int32_t l : loops)
      if (l >= 0 && is_open(l) == open) all.push_back(l);
  return all;
}
WEFT_DECL int gpu_plan::grid_of_tiles(sequence<std::int32_t> const& loops) {
  sequence<std::int32_t> open, closed;
  std::int64_t blocks = 1;
  for (std::int32_t l : loops) {
    if (l >= 0) (is_open(l) ? open : closed).push_back(l);
    if (l >= 0 && !is_open(l)) blocks *= trips(l);
  }
  if (open.empty()) return grid(loops);
  if (!closed.empty()) open.push_back(fuse(closed));
  // x has room for 2^31 - 1 blocks, the others for 65535, which is found out at the launch.
  bool const turned = open.size() > 1 && !closed.empty() && blocks > 65535;
  thread_axis const axes[] = {thread_axis::block_x, thread_axis::block_y, thread_axis::block_z};
  for (std::size_t i = 0; i < open.size() && i < 3; ++i) bind(open[i], axes[turned ? open.size() - 1 - i : i]);
  return open.back();
}
WEFT_DECL bool gpu_plan::has_grid_of_tiles(int stage) const {
  stage_info const& of = view().stage(stage);
  int open = 0, closed = 0;
  for (int a = 0; a < of.spatial; ++a) (is_open(view().loop(stage, a)) ? open : closed) += 1;
  return open == 0 || open + (closed > 0 ? 1 : 0) <= 3;
}
WEFT_DECL sequence<access> gpu_plan::accesses(int stage) const {
  sequence<access> all = view().loads(stage);
  all.push_back(view().result(stage));
  return all;
}
/// How many elements along an axis of so many iterations make 16 bytes, where all that is contiguous there divides.
WEFT_DECL std::int64_t gpu_plan::width(sequence<access> const& all, int axis, std::int64_t extent) const {
  std::int64_t bytes = 0;
  for (access const& one : all)
    if (one.step(axis) == 1 && element_bytes(one.tensor) > bytes) bytes = element_bytes(one.tensor);
  std::int64_t lanes = bytes == 0 ? 1 : bytes == 1 ? 8 : 16 / bytes;
  // A row of one thread would be no loop over threads at all.
  while (lanes > 1 && (extent < 2 * lanes || extent % lanes != 0)) lanes /= 2;
  return lanes;
}
/// The same of rows that are fused: what goes over the end of one is no access of 16 bytes, but as many single ones, apart from those of the next thread.
WEFT_DECL std::int64_t gpu_plan::width_in_rows(int stage, sequence<access> const& all, int axis, std::int64_t extent) const {
  std::int64_t lanes = width(all, axis, extent);
  std::int64_t row = view().extent(stage, axis);
  while (row == 1 && extent > 1 && axis > 0) row = view().extent(stage, --axis);  // rows of one element: the axis outside, fused, too
  while (lanes > 1 && row % lanes != 0) lanes /= 2;
  return lanes;
}
WEFT_DECL std::int64_t gpu_plan::power_below(std::int64_t n) {
  std::int64_t p = 1;
  while (2 * p <= n) p *= 2;
  return p;
}

// --- elements -----------------------------------------------------------------------------------------------------
/// The axis whose iterations go to threads side by side. What is stored once for many terms counts little.
WEFT_DECL int gpu_plan::column_axis(int stage, sequence<access> const& all) const {
  rule_view const v = view();
  stage_info const& of = v.stage(stage);
  double const terms = v.iterations(stage) / (v.iterations(stage, false) + 1e-9);
  int best = -1;
  double least = 0;
  for (int a = 0; a < of.spatial; ++a) {
    std::int64_t const e = v.extent(stage, a);
    if (a == of.scanned || e == 0 || e == 1) continue;
    double cost = 0.01;
    for (std::size_t i = 0; i < all.size(); ++i) {
      double const weight = i + 1 == all.size() ? 1 / (terms < 1 ? 1 : terms) : 1;
      cost += weight * (all[i].step(a) == 0 ? 0.1 : all[i].step(a) == 1 ? 1 : 8);
    }
    if (e > 0 && e < 32) cost *= 32.0 / static_cast<double>(e);
    if (best < 0 || cost <= least) best = a, least = cost;
  }
  return best;
}
/// Whether rows stand one behind the other in all that is read and written, so that all elements are one row, however short each is.
WEFT_DECL bool gpu_plan::is_one_row(int stage, sequence<access> const& all) const {
  rule_view const v = view();
  stage_info const& of = v.stage(stage);
  if (of.reduced > 0 || of.scanned >= 0) return false;
  for (int a = 0; a < of.spatial; ++a)
    for (access const& one : all) {
      bool const last = a + 1 == of.spatial;
      std::int64_t const next = last ? 1 : one.step(a + 1), length = last ? 1 : v.extent(stage, a + 1);
      if (is_open(v.loop(stage, a)) || one.step(a) == no_step || one.step(a) != step_sum(0, next, length)) return false;
    }
  return true;
}
/// A thread for each element, or for 16 bytes of them; terms one after the other.
WEFT_DECL void gpu_plan::elements(int stage) {
  rule_view const v = view();
  stage_info const of = v.stage(stage);
  sequence<access> const all = accesses(stage);
  int axis = column_axis(stage, all);
  if (axis >= 0 && is_one_row(stage, all)) axis = of.spatial - 1;
  if (axis < 0) {  // of one element, or along a scan alone
    sequence<std::int32_t> loops;
    for (int a = 0; a < of.spatial; ++a)
      if (a != of.scanned) loops.push_back(v.loop(stage, a));
    if (!loops.empty()) bind(loops[0], thread_axis::block_x);
    return;
  }
  int other = -1;
  for (access const& one : all)
    for (int a = 0; a < of.spatial; ++a)
      if (a != axis && a != of.scanned && one.step(a) == 1 && one.step(axis) != 0 && one.step(axis) != 1) other = a;
  bool const tile = other >= 0 && of.reduced == 0 && of.scanned < 0 && v.extent(stage, other) >= 8 && v.extent(stage, axis) >= 8 && has_grid_of_tiles(stage);
  if (tile) return transposed(stage, all, axis, other);
  // In a row of all rows four elements lie in one row where their number divides by four, which is not seen of open ones.
  bool const last = of.reduced == 0 && of.scanned < 0 && axis == of.spatial - 1 && !is_open(v.loop(stage, axis));
  int const whole = last ? merged(stage, 0, all) : -1;
  int const column = whole >= 0 ? whole : v.loop(stage, axis);
  sequence<std::int32_t> around, inside;
  for (std::int32_t l : s_.order[static_cast<std::size_t>(stage)])
    if (l != column) (s_.at(l).scanned || s_.at(l).reduced ? inside : around).push_back(l);
  std::int64_t const widest = of.reduced > 0 || of.scanned >= 0 ? 1 : width_in_rows(stage, all, axis, trips(column));
  std::int64_t const wide = choose(stage, "lanes", widest, {1, 2, 4, 8}, widest);
  std::int64_t const threads = choose(stage, "threads", 256, {32, 64, 128, 512, 1024});
  parts const lane = wide > 1 ? split(column, wide) : parts{column, -1};
  std::int64_t open_row = threads;
  while (is_open(lane.outer) && open_row > 32 && open_row / 2 >= trips(lane.outer)) open_row /= 2;  // of an open row the likely length
  parts const thread = cut(lane.outer, open_row);
  sequence<std::int32_t> order = around;
  for (int l : {thread.outer, thread.inner}) order.push_back(l);
  for (std::int32_t l : inside) order.push_back(l);
  order.push_back(lane.inner);
  reorder(order);
  int row = fused(around), down = -1;
  if (std::int64_t const n = is_open(lane.outer) ? open_row : trips(thread.inner); row >= 0 && (thread.outer < 0 || open_row < threads) && n > 0 && n <= threads / 2) {
    parts const rows = cut(row, power_below(threads / n));
    row = rows.outer, down = rows.inner;
    if (thread.outer >= 0) reorder({row, thread.outer, down, thread.inner});
  }
  if (of.reduced > 0 && !inside.empty())
    if (std::int64_t const n = choose(stage, "unroll", 1, {2, 4, 8}, trips(inside.back())); n > 1)
      mark(verb::unroll, split(inside.back(), n).inner);
  mark(verb::vectorize, lane.inner);
  bind(down, thread_axis::thread_y);
  bind(thread.inner, thread_axis::thread_x);
  grid({row, thread.outer});
}
/// What is contiguous along another axis than the result: 32 x 32 elements, of which each thread has four. In a search `tile` is the
/// side, `rows` how many of them the threads have at a time.
WEFT_DECL void gpu_plan::transposed(int stage, sequence<access> const& all, int axis, int other) {
  rule_view const v = view();
  struct turned {
    int tensor, across;
  };
  sequence<turned> copied;
  for (access const& one : all)
    if (one.tensor != v.stage(stage).tensor && one.step(axis) != 0 && one.step(axis) != 1 && one.step(other) == 1)
      if (int const d = dimension_of(stage, one.tensor, axis); d >= 0 && dimension_of(stage, one.tensor, other) >= 0)
        copied.push_back({one.tensor, d});
  std::int64_t const side = choose(stage, "tile", 32, {16, 64}), deep = choose(stage, "rows", 8, {4, 16, 32}, side);
  bool const shared = choose(stage, "shared", true), apart = shared && choose(stage, "padded", true);
  parts const x = split(v.loop(stage, axis), side), y = split(v.loop(stage, other), side), down = split(y.inner, deep);
  sequence<std::int32_t> around;
  for (int a = 0; a < v.stage(stage).spatial; ++a)
    if (a != axis && a != other) around.push_back(v.loop(stage, a));
  for (int l : {y.outer, x.outer}) around.push_back(l);
  around = open_first(around);
  sequence<std::int32_t> order = around;
  for (int l : {down.inner, x.inner, down.outer}) order.push_back(l);
  reorder(order);
  mark(verb::unroll, down.outer);
  bind(down.inner, thread_axis::thread_y);
  bind(x.inner, thread_axis::thread_x);
  int const at = grid_of_tiles(around);
  for (turned const& t : copied) {
    if (how_ != boldness::all || at < 0 || !shared) break;
    int const copy = add_stage(verb::cache_read, stage, t.tensor);
    if (copy < 0 || !place(verb::compute_at, copy, at)) continue;
    rule_view const now = view();
    int along = -1;
    for (int a = 0; a < now.stage(copy).spatial; ++a)
      if (now.strides(t.tensor)[static_cast<std::size_t>(a)] == 1) along = a;
    if (along < 0 || along == t.across) continue;
    parts const q = split(now.loop(copy, along), side), p = split(now.loop(copy, t.across), deep);
    sequence<std::int32_t> inner;
    for (int a = 0; a < now.stage(copy).spatial; ++a)
      if (a != along && a != t.across) inner.push_back(now.loop(copy, a));
    for (int l : {q.outer, p.inner, q.inner, p.outer}) inner.push_back(l);
    reorder(inner);
    bind(p.inner, thread_axis::thread_y);
    bind(q.inner, thread_axis::thread_x);
    step padded{verb::storage_align};
    padded.stage = copy;
    for (std::int64_t number : {std::int64_t(t.across), std::int64_t(32), std::int64_t(1)}) padded.numbers.push_back(number);
    if (apart && along == t.across + 1 && may(padded)) take(padded);
  }
}
/// Terms one after the other, in a thread for each element; in pieces, where that is too few threads.
WEFT_DECL void gpu_plan::columns(int stage) {
  rule_view const v = view();
  stage_info const of = v.stage(stage);
  double const elements_of = v.iterations(stage, false), terms = v.iterations(stage) / (elements_of + 1e-9);
  int longest = of.spatial;
  for (int a = of.spatial; a < of.axes(); ++a)
    if (v.extent(stage, a) > v.extent(stage, longest)) longest = a;
  std::int64_t count = power_below(v.extent(stage, longest) / 4);
  while (count > 1 && (static_cast<double>(count) * elements_of > 2.0 * gpu_numbers::threads || static_cast<double>(count) * 16 > terms)) count /= 2;
  bool const may_part = how_ == boldness::all && of.spatial <= 6 && order_may_change(stage);
  if (may_part) count = choose(stage, "parts", count, {1, 2, 4, 8, 16, 32, 64, 128}, v.extent(stage, longest) / 4);
  if (may_part && count > 1) {
    taken_apart const made = rfactor(stage, v.loop(stage, longest), count, true);
    if (made.parts >= 0) elements(made.parts);
  }
  elements(stage);
}

// --- the whole ------------------------------------------------------------------------------------------------------
/// Which stages are in no loop of others: products and what they read, reductions that one thread does, and those of few long rows.
WEFT_DECL void gpu_plan::choose_alone() {
  program const& p = s_.computation();
  sequence<sequence<std::int32_t>> const readers = readers_of(p);
  alone_.resize(readers.size(), false);
  rule_view const v = view();
  for (int t = 0; t < static_cast<int>(readers.size()); ++t) {
    auto const at = static_cast<std::size_t>(t);
    stage_info const& of = v.stage(t);
    bool const few = v.iterations(t, false) < 64 && v.iterations(t) > 65536 * v.iterations(t, false);
    alone_[at] = of.reduced > 0 && (!is_tree(t) || reuse(t).rows >= 0 || few);
    alone_[at] = alone_[at] || is_attended(t);
    for (std::int32_t r : readers[at]) alone_[at] = alone_[at] || (v.stage(r).reduced > 0 && reuse(r).rows >= 0);
  }
}
WEFT_DECL void gpu_plan::nest_of(int stage) {
  if (is_refused()) return;
  stage_info const of = view().stage(stage);
  if (of.by != nullptr || of.spatial == 0) return;
  for (attention_stages const& a : attended_) {
    if (a.second == stage) return attention(a);
    if (a.holds(stage)) return;
  }
  for (attention_blocks const& b : attended_in_blocks_) {
    if (b.home == stage) return attention_in_blocks(b);
    if (b.holds(stage)) return;
  }
  if (!guests_of(stage).empty()) return rows(stage);
  if (of.reduced == 0) return elements(stage);
  if (reused_axes const axes = reuse(stage); axes.rows >= 0) {
    if (!has_grid_of_tiles(stage)) return columns(stage);
    by_units const how = matrix_product(stage, axes);
    if (how == by_units::none ? product(stage, axes) : how == by_units::whole_tiles) behind(stage);
    return;
  }
  if (is_tree(stage)) return long_rows(stage);
  columns(stage);
}
WEFT_DECL void gpu_plan::write() {
  if (how_ == boldness::all && !in_.in_place) inline_stages(), find_windows();
  find_attention();
  choose_alone();
  find_hosts();
  int const count = static_cast<int>(host_.size());
  behind_.resize(host_.size(), false);
  // First of all those that others may be computed behind, or in.
  for (gathered_product const& g : gathered_) nest_of(g.product);
  for (int t = 0; t < count && !is_refused(); ++t)
    if (!behind_[static_cast<std::size_t>(t)] && host_[static_cast<std::size_t>(t)] == t && !is_gathered(t) &&
        !s_.places[static_cast<std::size_t>(t)].inlined && !is_placed_gather(t))
      nest_of(t);
}

}  // namespace detail
}  // namespace weft::inline WEFT_ABI
