#include "weft/schedule/rules/planner.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

/// The last reduced axis along which all that is read is contiguous or stays; -1: none.
WEFT_DECL int rule_plan::contiguous_reduced_axis(rule_view const& v, int stage) const {
  stage_info const& of = v.stage(stage);
  sequence<access> const loads = v.loads(stage);
  for (int k = of.axes(); k-- > of.spatial;) {
    bool any = false, fine = v.extent(stage, k) >= v.lanes(stage);
    for (access const& one : loads) any = any || one.step(k) == 1, fine = fine && (one.step(k) == 1 || one.step(k) == 0);
    if (any && fine) return k;
  }
  return -1;
}
/// Whether parts of its terms may be joined: always where that leaves all bits as they are.
WEFT_DECL bool rule_plan::order_may_change(int stage) const {
  program const& p = s_.computation();
  associative_form const form(p, stage);
  if (!form.known()) return false;
  stage_info const& of = program::at(p.stages, stage);
  bool exact = true;
  for (int r = 0; r < of.results; ++r) exact = exact && !is_float(program::at(p.tensors, of.tensor + r).type);
  return exact || in_.reassociate;
}
/// The parts of a short row take longer to join, one after the other, than the row to sum: 64 of them 256 cycles. So they are
/// joined by vectors first, and those by shorter ones.
WEFT_DECL void rule_plan::join_in_steps(int stage, int v, std::int64_t count, std::int64_t terms) {
  int const depth = view().stage(stage).spatial;
  std::int64_t const lanes = view().lanes(stage);
  while (count > 4 && terms <= 64 * count && depth > 0) {
    std::int64_t const next = count > lanes ? lanes : 4;
    if (count % next != 0 || count == next) return;
    taken_apart const made = rfactor(stage, v, next, false);
    if (made.parts < 0) return;
    host_[static_cast<std::size_t>(made.parts)] = stage;
    rule_view const after = view();
    int const lane = after.loop(made.parts, depth);
    reorder({after.loop(made.parts, depth + 1), lane});
    mark(verb::unroll, after.loop(made.parts, depth + 1));
    mark(verb::vectorize, lane);
    joins_.push_back(made.parts);
    count = next, v = made.v;
  }
}
/// Sums of each row by lanes of vectors; where there are too few rows for all threads, of pieces of them.
WEFT_DECL bool rule_plan::in_parts(int stage) {
  rule_view const v = view();
  stage_info const of = v.stage(stage);
  int k = contiguous_reduced_axis(v, stage);
  if (how_ == boldness::loops || k < 0 || of.spatial > 6 || of.by != nullptr || !order_may_change(stage)) return false;
  bool const own_nest = host_[static_cast<std::size_t>(stage)] == stage;
  std::int64_t const terms = v.extent(stage, k), lanes = v.lanes(stage);
  std::int64_t const count = lanes * choose(stage, "parts", terms >= 16 * lanes ? 4 : terms >= 4 * lanes ? 2 : 1, {1, 2, 3, 4, 6, 8}, terms / lanes);
  double const total = cycles(stage);
  int summed = stage;  // by lanes
  if (own_nest && is_worth_a_fork(total) && v.iterations(stage, false) < in_.threads) {
    int const first = v.extent(stage, of.spatial) >= in_.threads ? of.spatial : k;
    taken_apart const pieces = rfactor(stage, v.loop(stage, first), in_.threads, true);
    if (pieces.parts < 0) return false;
    summed = pieces.parts, k += 1;
  }
  rule_view const now = view();
  taken_apart const made = rfactor(summed, now.loop(summed, k), count, false);
  if (made.parts < 0) return false;
  host_[static_cast<std::size_t>(made.parts)] = summed;
  if (choose(stage, "join_in_steps", true)) join_in_steps(summed, made.v, count, terms);
  rule_view const after = view();
  stage_info const inner = after.stage(made.parts), outer = after.stage(summed);
  sequence<std::int32_t> order;
  for (int a = inner.spatial; a < inner.axes(); ++a) order.push_back(after.loop(made.parts, a));
  int const lane = after.loop(made.parts, inner.spatial - 1);
  order.push_back(lane);
  reorder(order);
  mark(verb::vectorize, lane);
  sequence<std::int32_t> rows;
  for (int a = 0; a < outer.spatial; ++a) rows.push_back(after.loop(summed, a));
  if (summed != stage) {  // the pieces outermost
    sequence<std::int32_t> turned(1, rows.back());
    for (std::size_t i = 0; i + 1 < rows.size(); ++i) turned.push_back(rows[i]);
    reorder(turned);
    mark(verb::parallel, turned[0]);
    rows = turned;
  } else if (own_nest) {
    run_parallel(rows, total);
  }
  // What the others read is placed behind them.
  for (; !joins_.empty() && !rows.empty(); joins_.pop_back()) place(verb::compute_at, joins_.back(), rows.back());
  joins_.clear();
  if (!rows.empty()) place(verb::compute_at, made.parts, rows.back());
  return true;
}
WEFT_DECL void rule_plan::reduction(int stage) {
  tile_axes const t = axes_of_tile(stage);
  if (t.columns >= 0) return contraction(stage, t);
  if (in_parts(stage)) return;
  sums_in_lanes(stage, 0);
  sequence<std::int32_t> rows;
  for (std::int32_t l : s_.order[static_cast<std::size_t>(stage)])
    if (!s_.at(l).reduced && !s_.at(l).scanned && s_.at(l).kind == loop_kind::serial) rows.push_back(l);
  run_parallel(rows, cycles(stage));
}

}  // namespace detail
}  // namespace weft::inline WEFT_ABI
