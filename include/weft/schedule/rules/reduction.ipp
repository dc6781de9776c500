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
/// Sums of each row by lanes of vectors; where there are too few rows for all threads, of pieces of them.
WEFT_DECL bool rule_plan::in_parts(int stage) {
  rule_view const v = view();
  stage_info const of = v.stage(stage);
  int k = contiguous_reduced_axis(v, stage);
  if (how_ != boldness::all || k < 0 || of.spatial > 6 || of.by != nullptr || !order_may_change(stage)) return false;
  bool const own_nest = host_[static_cast<std::size_t>(stage)] == stage;
  std::int64_t const terms = v.extent(stage, k), lanes = v.lanes(stage);
  std::int64_t const count = terms >= 16 * lanes ? 4 * lanes : terms >= 4 * lanes ? 2 * lanes : lanes;
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
    place(verb::compute_at, made.parts, turned.back());
  } else {
    if (own_nest) run_parallel(rows, total);
    if (!rows.empty()) place(verb::compute_at, made.parts, rows.back());
  }
  return true;
}
WEFT_DECL void rule_plan::reduction(int stage) {
  tile_axes const t = axes_of_tile(stage);
  if (t.columns >= 0) return contraction(stage, t);
  if (in_parts(stage)) return;
  rule_view const v = view();
  sequence<std::int32_t> rows;
  for (int a = 0; a < v.stage(stage).spatial; ++a)
    if (a != v.stage(stage).scanned) rows.push_back(v.loop(stage, a));
  run_parallel(rows, cycles(stage));
}

}  // namespace detail
}  // namespace weft::inline WEFT_ABI
