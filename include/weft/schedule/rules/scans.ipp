#include "weft/schedule/rules/planner.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

/// How many rows of `pitch` bytes a scan along them takes at once, of vectors with so many lanes. Eight by eight: squares of sixteen are slower
/// where rows come from memory (1000 x 3000 floats 35 and 7 GB/s, a copy 33), since two lines of each are too many streams. Rows whose lines
/// meet in one set of the first cache are four (999 x 4095: 23 and 13 GB/s; EPYC, Zen 4, 2026-11-23).
inline std::int64_t rows_of_square(std::int64_t lanes, std::int64_t pitch, bool large) {
  constexpr std::int64_t page = 4096, near = 512;
  std::int64_t const beyond = pitch % page;
  bool const meet = large && pitch >= page - near && (beyond <= near || beyond >= page - near);
  return lanes <= 4 || meet ? 4 : 8;
}
/// Scans: along rows of memory, or from row to row. False: what is read lies otherwise.
WEFT_DECL bool rule_plan::scan(int stage, int axis, sequence<access> const& all) {
  rule_view const v = view();
  stage_info const& of = v.stage(stage);
  if (v.extent(stage, axis) < 2 || v.extent(stage, of.scanned) < 2) return false;
  bool across = true;
  for (access const& one : all) across = across && (one.step(axis) == 0 || one.step(axis) == 1);
  if (across) return scan_across_rows(stage, axis, all);
  for (int a = of.spatial; a-- > 0 && of.results == 1;) {  // rows next to each other
    if (a == of.scanned || v.extent(stage, a) < 2) continue;
    bool fine = true;
    for (access const& one : all)
      fine = fine && (one.step(a) == 0 || one.step(a) == 1 || (one.step(a) != no_step && one.step(of.scanned) == 1));
    if (fine) return scan_along_rows(stage, a, all);
  }
  return false;
}
/// Lanes run down the rows, of which as many are taken as a square has, by as many steps at a time: squares are read and stored by rows, and
/// turned over in registers. Rows that are fewer, or written over what is read, go side by side, since a single one waits for each of its
/// steps.
WEFT_DECL bool rule_plan::scan_along_rows(int stage, int axis, sequence<access> const& all) {
  rule_view const v = view();
  stage_info const of = v.stage(stage);
  double const total = cycles(stage);
  std::int64_t const lanes = v.lanes(stage), step_of_rows = v.result(stage).step(axis);
  std::int64_t const pitch = step_of_rows == no_step ? 0 : step_of_rows * widest_bytes(v.p(), of);
  std::int64_t own = rows_of_square(lanes, pitch, in_.l2_bytes > 0 && v.bytes_of(of.tensor) > static_cast<double>(in_.l2_bytes));
  // Rows that follow those of the axis outside are one axis with them.
  int joined = v.extent(stage, axis) % own != 0 && axis > 0 && axis - 1 != of.scanned && v.extent(stage, axis - 1) > 0 ? axis - 1 : -1;
  for (access const& one : all)
    if (joined >= 0 && (one.step(joined) == no_step || one.step(joined) != step_sum(0, one.step(axis), v.extent(stage, axis)))) joined = -1;
  int row_loop = joined < 0 ? -1 : fuse({v.loop(stage, joined), v.loop(stage, axis)});
  if (row_loop < 0) joined = -1, row_loop = v.loop(stage, axis);
  std::int64_t const steps = v.extent(stage, of.scanned), least = trips(row_loop) < steps ? trips(row_loop) : steps;
  while (own > 1 && own > least) own /= 2;
  // Of two squares along a row and more the sums so far stay in a register: of one they are read back from where they were stored.
  while (own > 4 && 2 * own > steps) own /= 2;
  // Shorter rows are all written out: squares with masks took five times as long (5,000 rows of 4 of f32 26 and 4 us).
  bool const turned = own >= 4 && steps > 7 && !in_.in_place;
  if (turned) own = choose(stage, "rows", own, {4, 8, 16}, least < lanes ? least : lanes);
  sequence<std::int32_t> around;
  for (int a = 0; a < of.spatial; ++a)
    if (a != axis && a != of.scanned && a != joined) around.push_back(v.loop(stage, a));
  parts const row = cut(row_loop, turned ? own : 4, tail::partition);
  parts const step = turned ? cut(v.loop(stage, of.scanned), own, tail::partition) : parts{-1, v.loop(stage, of.scanned)};
  around.push_back(row.outer);
  sequence<std::int32_t> order = around;
  for (int l : {step.outer, step.inner, row.inner}) order.push_back(l);
  reorder(order);
  if (turned) mark(verb::unroll, step.inner);
  mark(turned ? verb::vectorize : verb::unroll, row.inner);
  run_parallel(around, turned ? total : total * static_cast<double>(lanes));
  return true;
}
/// Row after row, each whole: that is what a processor asks for ahead, and the row before is at hand, in a cache, where a register could have had
/// 64 of its elements (1000 x 4096 floats 27 GB/s, by 256 columns 16, by 64 columns 3). Rows longer than a quarter of the second cache are cut;
/// threads have a piece of all rows each.
WEFT_DECL bool rule_plan::scan_across_rows(int stage, int axis, sequence<access> const& all) {
  rule_view const before = view();
  stage_info const of = before.stage(stage);
  double const work = before.operations(stage), total = cycles(stage);
  bool const last = axis == of.spatial - 1 && axis > of.scanned;
  int const whole = last ? merged(stage, of.scanned + 1, all) : -1;
  rule_view const v = view();
  std::int64_t const width = v.lanes(stage) * choose(stage, "vectors", work <= 8 ? 4 : work <= 20 ? 2 : 1, {1, 2, 4, 8});
  sequence<std::int32_t> around, inside;
  bool shared = false;
  for (std::int32_t l : s_.order[static_cast<std::size_t>(stage)]) {
    if (l == whole || (whole < 0 && l == v.loop(stage, axis))) continue;
    (s_.at(l).scanned ? inside : around).push_back(l);
    shared = shared || (!s_.at(l).scanned && trips(l) >= in_.threads);
  }
  parts lane = cut(whole >= 0 ? whole : v.loop(stage, axis), width), block{-1, lane.outer};
  if (lane.outer >= 0 && trips(lane.outer) > 1) {
    std::int64_t const there = trips(lane.outer);
    std::int64_t fits = in_.l2_bytes / (4 * width * widest_bytes(v.p(), of));
    if (!shared && is_worth_a_fork(total) && ceil_div(there, in_.threads) < fits) fits = ceil_div(there, in_.threads);
    std::int64_t const own = fits > 0 && fits < there ? fits : there;
    if (std::int64_t const n = choose(stage, "block", own, {1, 4, 16, 64}, there); n < there) block = split(lane.outer, n);
  }
  around.push_back(block.outer);
  sequence<std::int32_t> order = around;
  for (std::int32_t l : inside) order.push_back(l);
  order.push_back(block.inner);
  order.push_back(lane.inner);
  reorder(order);
  mark(verb::vectorize, lane.inner);
  run_parallel(around, total);
  return true;
}

}  // namespace detail
}  // namespace weft::inline WEFT_ABI
