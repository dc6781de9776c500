#include "weft/schedule/rules/gpu_planner.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

/// Whether its terms may be shared out among threads, and read side by side.
WEFT_DECL bool gpu_plan::is_tree(int stage) const {
  rule_view const v = view();
  stage_info const& of = v.stage(stage);
  if (how_ != boldness::all || of.results != 1 || of.by != nullptr || of.spatial > 6 || of.reduced == 0) return false;
  int const k = contiguous_reduced_axis(v, stage);
  return k >= 0 && v.extent(stage, k) >= 32 && order_may_change(stage);
}
/// A warp for up to 512 elements; more threads for more, by which they divide if that can be. On an H100 rows of 1024 are summed and divided at the
/// speed of copies by 32 and by 128 threads each (softmax), or by 128 alone (layernorm: 0.81 by 32); rows of 4096 by 256, and 0.81 to 0.91 by 128.
WEFT_DECL std::int64_t gpu_plan::threads_of_row(std::int64_t length) const {
  std::int64_t const wanted = length <= 512 ? 32 : length <= 2048 ? 128 : length <= 32768 ? 256 : length <= 131072 ? 512 : 1024;
  for (std::int64_t vectors : {4, 2})
    for (std::int64_t threads : {wanted, 2 * wanted, wanted / 2})
      if (threads >= 32 && threads <= 1024 && length % (vectors * threads) == 0) return threads;
  return wanted;
}
/// Sums a row by threads: each has every threads-th term, or rows of 16 bytes of them.
WEFT_DECL void gpu_plan::tree(int stage, std::int64_t threads) {
  rule_view const v = view();
  int const k = contiguous_reduced_axis(v, stage);
  if (k < 0) return;
  std::int64_t const terms = v.extent(stage, k);
  std::int64_t wide = width(v.loads(stage), k, terms);
  while (wide > 1 && terms % (wide * threads) != 0) wide /= 2;
  wide = choose(stage, "lanes", wide, {1, 2, 4, 8}, wide);
  taken_apart const made = rfactor(stage, v.loop(stage, k), wide * threads, false);
  if (made.parts < 0) return;
  host_in(made.parts, stage);
  parts const shares = wide > 1 ? split(made.v, wide) : parts{made.v, -1};
  bind(shares.outer, thread_axis::thread_x);
  mark(verb::unroll, shares.inner);
  if (wide > 1) {
    rule_view const after = view();
    stage_info const& of = after.stage(made.parts);
    sequence<std::int32_t> order;
    for (int a = of.spatial; a < of.axes(); ++a) order.push_back(after.loop(made.parts, a));
    parts const lane = split(after.loop(made.parts, of.spatial - 1), wide);
    order.insert(order.begin(), lane.outer);
    order.push_back(lane.inner);
    reorder(order);
    mark(verb::vectorize, lane.inner);
  }
  place(verb::compute_at, made.parts, shares.outer);
}
/// What a stage does in each row: its first axes are the rows'.
WEFT_DECL void gpu_plan::in_row(int stage, int depth, std::int64_t threads) {
  rule_view const v = view();
  stage_info const of = v.stage(stage);
  if (of.reduced > 0 && (of.spatial <= depth || is_tree(stage))) return tree(stage, threads);
  if (of.spatial <= depth) return;
  sequence<access> const all = accesses(stage);
  int const last = of.spatial - 1;
  if (of.reduced > 0) {  // sums side by side, of which each thread has some: a row of weights times values
    bind(cut(v.loop(stage, last), threads).inner, thread_axis::thread_x);
    return;
  }
  int const whole = is_open(v.loop(stage, last)) ? -1 : merged(stage, depth, all);
  int const column = whole >= 0 ? whole : v.loop(stage, last);
  std::int64_t const widest = width_in_rows(stage, all, last, trips(column)), wide = choose(stage, "lanes", widest, {1, 2, 4, 8}, widest);
  parts const lane = wide > 1 ? split(column, wide) : parts{column, -1};
  parts const thread = cut(lane.outer, threads);
  bind(thread.inner, thread_axis::thread_x);
  mark(verb::vectorize, lane.inner);
}
/// What a row of a stage's results takes, whose first axes are the rows'; 0: that is not known.
WEFT_DECL std::int64_t gpu_plan::row_bytes(int stage, int depth) const {
  rule_view const v = view();
  stage_info const& of = v.stage(stage);
  std::int64_t bytes = 0;
  for (int r = 0; r < of.results; ++r) bytes += element_bytes(of.tensor + r);
  for (int a = depth; a < of.spatial; ++a)
    if (is_open(v.loop(stage, a)) || v.extent(stage, a) < 0 || __builtin_mul_overflow(bytes, v.extent(stage, a), &bytes)) return 0;
  return bytes;
}
/// Whether a stage reads rows of a tensor whole: its first axes are the rows', and one other walks along them.
WEFT_DECL bool gpu_plan::reads_rows(int stage, int tensor, int depth) const {
  rule_view const v = view();
  sequence<std::int64_t> const strides = v.strides(tensor);
  bool any = false;
  for (access const& one : v.loads(stage)) {
    if (one.tensor != tensor) continue;
    any = true;
    int along = 0;
    for (int a = 0; a < v.stage(stage).axes(); ++a) {
      std::int64_t const step = one.step(a);
      if (a < depth ? step != strides[static_cast<std::size_t>(a)] : step != 0 && step != 1) return false;
      along += a >= depth && step == 1;
    }
    if (along != 1) return false;
  }
  return any;
}
/// Rows that several stages go over come from memory once, into what a block keeps, and before all else: the copies are the first guests. Shorter ones are
/// in the first cache then, as they are. Layernorm of rows of 16384 on an H100: 0.50 of the speed of a copy without, 0.96 with it.
WEFT_DECL void gpu_plan::copy_rows(int stage, kept_rows& all) {
  for (int t = 0, count = static_cast<int>(s_.computation().tensors.size()); t < count; ++t) {
    program const& p = s_.computation();  // each copy makes it another one
    if (program::at(p.tensors, t).stage >= 0 || program::at(p.tensors, t).rank != all.depth + 1) continue;
    sequence<std::int32_t> by;
    for (std::int32_t g : all.guests)
      if (reads_tensor(p, g, t)) by.push_back(g);
    if (reads_tensor(p, stage, t)) by.push_back(stage);
    bool fits = by.size() > 1;
    for (int r = 0; r < static_cast<int>(p.stages.size()) && fits; ++r) {
      bool here = !reads_tensor(p, r, t);
      for (std::int32_t one : by) here = here || one == r;
      fits = here;
    }
    for (std::int32_t r : by) fits = fits && reads_rows(r, t, all.depth);
    std::int64_t const length = fits ? view().value(p.extent_of(t, all.depth)) : -1, bytes = length * element_bytes(t);
    if (bytes < gpu_numbers::row_copied_from || bytes > gpu_numbers::row_bytes) continue;
    int const copy = add_stage(verb::cache_read, by[0], t, static_cast<std::uint8_t>(readers::all));
    if (copy < 0) continue;
    host_in(copy, stage);
    depth_[static_cast<std::size_t>(copy)] = all.depth;
    all.guests.insert(all.guests.begin(), copy);
  }
}
/// What is to be kept of each row: not what is more than a block has, which is computed again where it is read. A pass over such rows more is
/// cheaper than the workspace, which is written and read. At most two, as each that reads another one doubles the work.
WEFT_DECL gpu_plan::kept_rows gpu_plan::keep_rows(int stage) {
  kept_rows all;
  all.guests = guests_of(stage);
  all.depth = view().stage(stage).spatial;
  for (std::int32_t g : all.guests)
    if (int const d = depth_[static_cast<std::size_t>(g)]; d < all.depth) all.depth = d;
  int const depth = all.depth;
  copy_rows(stage, all);
  for (std::int32_t g : all.guests) all.bytes += row_bytes(g, depth);
  for (int times = 0; times < 2 && all.bytes > gpu_numbers::row_bytes && how_ == boldness::all; ++times) {
    step again{verb::compute_inline};
    std::size_t at = 0;
    std::int64_t most = 0;
    for (std::size_t i = all.guests.size(); i-- > 0;) {  // of equals the last: what is copied stays
      step one{verb::compute_inline};
      one.stage = all.guests[i];
      if (view().stage(one.stage).reduced == 0 && row_bytes(one.stage, depth) > most && may(one)) again = one, at = i, most = row_bytes(one.stage, depth);
    }
    if (most == 0 || !take(again)) break;
    all.bytes -= most;
    all.guests.erase(all.guests.begin() + static_cast<std::ptrdiff_t>(at));
  }
  return all;
}
/// A block for each row, or eight short rows in one; all that a row needs inside. In a search `threads` are those of a row, `rows` those
/// of a block.
WEFT_DECL void gpu_plan::rows(int stage) {
  kept_rows const kept = keep_rows(stage);
  sequence<std::int32_t> const& guests = kept.guests;
  rule_view const v = view();
  int const depth = kept.depth;
  std::int64_t length = 1;
  auto const measure = [&](int t) {
    stage_info const& one = v.stage(t);
    std::int64_t n = 1;
    for (int a = depth; a < one.spatial; ++a) n *= v.extent(t, a) > 0 && n < 1 << 20 ? v.extent(t, a) : 1;
    if (int const k = one.reduced > 0 ? contiguous_reduced_axis(v, t) : -1; k >= 0) n = v.extent(t, k);
    if (n > length) length = n;
  };
  measure(stage);
  for (std::int32_t g : guests) measure(g);
  std::int64_t const threads = choose(stage, "threads", threads_of_row(length), {32, 64, 128, 256, 512, 1024});
  for (std::int32_t g : guests) in_row(g, depth, threads);
  in_row(stage, depth, threads);
  sequence<std::int32_t> outer;
  for (int a = 0; a < depth; ++a) outer.push_back(view().loop(stage, a));
  int row = fused(outer), at = row;
  std::int64_t const fit = 1024 / threads < trips(row) ? 1024 / threads : trips(row);
  std::int64_t const n = choose(stage, "rows", threads == 32 && trips(row) >= 8 ? 8 : 1, {1, 2, 4, 8, 16}, fit);
  if (n > 1) {
    parts const several = split(row, n);
    bind(several.inner, thread_axis::thread_y);
    row = several.outer, at = several.inner;
  }
  bind(row, thread_axis::block_x);
  for (std::size_t i = guests.size(); i-- > 0;) place(verb::compute_at, guests[i], at);
  // What is not asked for has 64 KiB, some of which are of parts of sums.
  if (kept.bytes <= most_on_stack - 4096 || kept.bytes * n > gpu_numbers::row_bytes) return;
  for (std::int32_t g : guests) {
    step shared{verb::set_scope};
    shared.stage = g;
    shared.word = static_cast<std::uint8_t>(scope::shared);
    if (row_bytes(g, depth) >= 4096 && may(shared)) take(shared);
  }
}
/// A stage that joins the parts of long rows.
WEFT_DECL void gpu_plan::join(int stage, int v) {
  sequence<std::int32_t> outer;
  for (int a = 0; a < view().stage(stage).spatial; ++a) outer.push_back(view().loop(stage, a));
  bind(fused(outer), thread_axis::block_x);
  bind(v, thread_axis::thread_x);
}
/// Few rows are summed in pieces, so that all processors have some.
WEFT_DECL void gpu_plan::long_rows(int stage) {
  rule_view const v = view();
  int const k = contiguous_reduced_axis(v, stage);
  double const count = v.iterations(stage, false);
  std::int64_t const terms = v.extent(stage, k);
  std::int64_t pieces = count < 2 * gpu_numbers::processors ? power_below(static_cast<std::int64_t>(8 * gpu_numbers::processors / (count < 1 ? 1 : count))) : 1;
  while (pieces > 1 && terms / pieces < 4096) pieces /= 2;
  // Of many rows each processor has some as it is.
  std::int64_t const most = count < 2 * gpu_numbers::processors && k >= 0 ? terms / 1024 : 1;
  pieces = choose(stage, "parts", pieces, {1, 2, 4, 8, 16, 32, 64, 128, 256, 512}, most);
  if (pieces < 2) return rows(stage);
  taken_apart const made = rfactor(stage, v.loop(stage, k), pieces, true);
  if (made.parts < 0) return rows(stage);
  rows(made.parts);
  join(stage, made.v);
}

}  // namespace detail
}  // namespace weft::inline WEFT_ABI
