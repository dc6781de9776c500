#include "weft/schedule/narrow.hpp"
#include "weft/schedule/rules/planner.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

/// Whether a comparison in `stage` hangs on `axis`: in a loop that the axis is fused into, each lane has an answer of its own.
WEFT_DECL bool rule_plan::is_asked(int stage, int axis) const {
  rule_view const v = view();
  int const number = v.stage(stage).first_axis + axis;
  bool found = false;
  each_node(v.p(), stage, false, [&](node const& x) {
    if (is_comparison(x.kind) && x.type == dtype::boolean)
      found = found || v.coefficient(x.a, number) != 0 || v.coefficient(x.b, number) != 0;
  });
  return found;
}
/// The last axis, where it is shorter than a vector (colours, levels, real and imaginary parts), and those before it as one loop
/// for lanes, as far as they lie together in the result: few vectors as a whole, or pieces of so many whole ones. No inner part: the last
/// axis is long enough, or alone.
WEFT_DECL rule_plan::parts rule_plan::cut_short_axes(int stage, int first_axis, std::int64_t vectors) {
  rule_view const v = view();
  stage_info const of = v.stage(stage);
  std::int64_t const lanes = v.lanes(stage);
  access const result = v.result(stage);
  int last = of.spatial - 1;
  std::int64_t count = last < first_axis ? 0 : v.extent(stage, last);
  if (count < 1 || count >= lanes || last == of.scanned || result.step(last) != 1) return {};
  sequence<std::int32_t> loops(1, v.loop(stage, last));
  parts piece;
  while (count < lanes && last > first_axis && piece.inner < 0) {
    std::int64_t const n = v.extent(stage, last - 1);
    if (n < 1 || last - 1 == of.scanned || result.step(last - 1) != count) break;
    int l = v.loop(stage, --last);
    std::int64_t whole = lanes;  // so many make full vectors
    for (std::int64_t x = count; x % 2 == 0 && whole > 1; x /= 2) whole /= 2;
    if (n * count > 4 * lanes && whole > 1 && lanes % count != 0) {
      if (whole * count > 8 * lanes) break;
      piece = cut(l, whole);
      l = piece.inner;
      count *= whole;
    } else {
      count *= n;
    }
    loops.insert(loops.begin(), static_cast<std::int32_t>(l));
  }
  if (loops.size() < 2) return {};
  int const all = fuse(loops);
  if (all < 0) return {};
  if (piece.inner >= 0 || count <= 4 * lanes) return {piece.outer, all};
  return cut(all, lanes * vectors);
}
/// Whether sums can be taken side by side: what is read is the same for all of them, or lies side by side, too, or in steps so small that few
/// vectors have all of it, as where an image is halved by sums (codegen/llvm/window.ipp).
WEFT_DECL bool rule_plan::can_sum_in_lanes(int stage, int first_axis) const {
  rule_view const v = view();
  stage_info const& of = v.stage(stage);
  int const last = of.spatial - 1;
  if (how_ == boldness::loops || of.scanned >= 0 || last < first_axis || v.extent(stage, last) < 2) return false;
  std::int64_t const widest = s_.limits.vector_bytes == 64 ? 4 : 2;
  for (access const& one : v.inside().loads(stage))
    for (int a = last; a >= first_axis && a >= last - 1; --a)
      if (one.step(a) == no_step || (a == last && (one.step(a) < 0 || one.step(a) > widest))) return false;
  for (int r = 1; r < of.results; ++r)
    if (program::at(v.p().tensors, of.tensor + r).rank != of.spatial) return false;
  return v.result(stage).step(last) == 1;
}
WEFT_DECL bool rule_plan::sums_in_lanes(int stage, int first_axis) {
  if (!can_sum_in_lanes(stage, first_axis)) return false;
  rule_view const v = view();
  stage_info const of = v.stage(stage);
  int const last = of.spatial - 1;
  std::int64_t const lanes = v.lanes(stage);
  std::int64_t const length = v.extent(stage, last);
  bool const open = is_open(v.loop(stage, last)), masks = s_.limits.vector_bytes == 64;
  bool apart = false;  // what neighbours read is: without masks the last ones would be gathered
  for (access const& one : v.inside().loads(stage)) apart = apart || one.step(last) > 1;
  // With masks a row that is no number of vectors is one as a whole, of which each mask is known: of maxima of 3 x 3, each second one, rows of 20 and 28 take 0.65 and
  // 0.70 of the time that they take with their ends one by one, those of 6 and 10 0.41 and 0.46 of that joined with others (EPYC, Zen 4, 2026-11-28).
  bool const some = length > lanes || (apart && 5 * length > lanes) || (last == first_axis && length >= 4);
  bool const whole = masks && !open && some && length % lanes != 0 && length <= 16 * lanes;
  // A length that the call says is left to masks, too: fused with others it has no lanes at all.
  bool const is_short = length < lanes && !whole && !(masks && open);
  // Of a longer one so many vectors at a time that the last piece is about as long as the others.
  std::int64_t const pieces = ceil_div(length, 16 * lanes), long_row = masks && !open && length % lanes != 0 ? ceil_div(ceil_div(length, pieces), lanes) * lanes : lanes;
  parts lane = whole ? parts{-1, v.loop(stage, last)} : is_short ? cut_short_axes(stage, first_axis, 1) : cut(v.loop(stage, last), long_row, apart && !masks ? tail::partition : tail::guard);
  // Part of a vector is still more than one element after the other.
  if (lane.inner < 0 && is_short && v.extent(stage, last) >= 8) lane.inner = v.loop(stage, last);
  // A few columns are few lanes, but each element of several results waits for the one before it.
  if (lane.inner < 0 && of.results > 1 && !apart) lane.inner = v.loop(stage, last);
  if (lane.inner < 0) return false;
  sequence<std::int32_t> order, terms;
  for (std::int32_t l : s_.order[static_cast<std::size_t>(stage)])
    if (l != lane.inner) (s_.at(l).reduced ? terms : order).push_back(l);
  for (std::int32_t l : terms) order.push_back(l);
  order.push_back(static_cast<std::int32_t>(lane.inner));
  if (of.results == 1 || is_short || !by_rows_of_terms(stage, first_axis, lane, terms)) reorder(order);
  mark(verb::vectorize, lane.inner);
  std::int64_t all = 1;
  for (std::int32_t l : terms) all *= trips(l) < 0 || trips(l) > 16 ? 17 : trips(l);
  for (std::int32_t l : terms)
    if (apart && all <= 16) mark(verb::unroll, l);  // of a window that moves by its own size all is read once
  return true;
}
/// Places of maxima down columns, and the like: eight rows from one end to the other, since a column's lines are far apart in memory; what is so
/// far known of all columns stays in a cache (1024 x 1024 floats: 0.8 GB/s by elements). False: another order is as good.
WEFT_DECL bool rule_plan::by_rows_of_terms(int stage, int first_axis, parts lane, sequence<std::int32_t> terms) {
  bool lacking = false;  // axes, which is only seen where those stand inside of all terms
  for (std::uint32_t axes : narrow_results_of(s_).lacks) lacking = lacking || axes != 0;
  constexpr std::int64_t at_a_time = 8;
  if (first_axis > 0 || lacking || terms.empty() || lane.outer < 0 || trips(lane.outer) < 4 || trips(terms.back()) < 2 * at_a_time) return false;
  parts const rows = split(terms.back(), at_a_time);
  if (rows.outer < 0) return false;
  parts piece{-1, lane.outer};
  if (is_worth_a_fork(cycles(stage)) && trips(lane.outer) >= in_.threads) piece = split(lane.outer, ceil_div(trips(lane.outer), in_.threads));
  sequence<std::int32_t> order;
  for (std::int32_t l : s_.order[static_cast<std::size_t>(stage)])
    if (!s_.at(l).reduced && l != lane.inner && l != piece.outer && l != piece.inner) order.push_back(l);
  order.push_back(static_cast<std::int32_t>(piece.outer));
  for (std::size_t i = 0; i + 1 < terms.size(); ++i) order.push_back(terms[i]);
  for (int l : {rows.outer, piece.inner, rows.inner, lane.inner}) order.push_back(static_cast<std::int32_t>(l));
  reorder(order);
  return true;
}

}  // namespace detail
}  // namespace weft::inline WEFT_ABI
