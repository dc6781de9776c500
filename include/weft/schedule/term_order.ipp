#include "weft/base/joined.hpp"
#include "weft/expr/associative.hpp"
#include "weft/expr/im2col.hpp"
#include "weft/schedule/term_order.hpp"

namespace weft::inline WEFT_ABI {

namespace detail {
/// The reduced loops of a stage in the order of its terms, as they stand now: a split axis is its parts, and loops that were fused are one where they stood behind
/// each other in that order. Else parts of it remain that are no loops any more.
inline sequence<std::int32_t> loops_in_term_order(nest const& n, int stage) {
  sequence<std::int32_t> order;
  for (std::size_t l = 0; l < n.loops.size(); ++l) {
    loop_info const& loop = n.loops[l];
    if (loop.stage == stage && loop.parent < 0 && loop.first < 0 && loop.reduced && !loop.gone) order.push_back(static_cast<std::int32_t>(l));
  }
  auto const fused_from = [&](std::size_t at) {  // how many, from there on, are one loop
    loop_info const& first = n.at(order[at]);
    if (first.into < 0 || n.at(first.into).first != order[at]) return std::size_t(0);
    std::size_t count = 0;
    for (std::int32_t part = order[at]; part >= 0; part = n.at(part).next, ++count)
      if (at + count >= order.size() || order[at + count] != part) return std::size_t(0);
    return count;
  };
  for (bool again = true; again;) {
    again = false;
    sequence<std::int32_t> next;
    for (std::size_t at = 0; at < order.size();) {
      loop_info const& l = n.at(order[at]);
      std::size_t const fused = l.is_split() ? 0 : fused_from(at);
      if (l.is_split()) next.push_back(l.outer), next.push_back(l.inner);
      else next.push_back(fused > 0 ? l.into : order[at]);
      again = again || l.is_split() || fused > 0;
      at += fused > 0 ? fused : 1;
    }
    order = next;
  }
  return order;
}
/// Whether im2col may change the bits of a sum of floats: it names its axes in another order than the program, or adds what a `where` of the program leaves out.
inline std::string lost_by_im2col(schedule const& s, step const& one) {
  for (std::size_t i = 1; i < one.numbers.size(); ++i)
    if (one.numbers[i] < one.numbers[i - 1]) return "are taken in another order (im2col)";
  program const& p = *s.original;
  auto const count = static_cast<int>(p.stages.size());
  for (int stage = one.stage < count ? one.stage : 0; stage < (one.stage < count ? one.stage + 1 : count); ++stage)
    if (im2col_form const form(p, stage); form.known() && form.left_out) return "that `where` leaves out are added (im2col)";
  return "";
}
/// Whether the order of the terms counts even where nothing is rounded: of a combiner that is not known to be associative, and of places, the first of equal ones.
inline bool has_an_order(program const& p, int stage) {
  if (program::at(p.stages, stage).reduced == 0) return false;
  associative_form const form(p, stage);
  return !form.known() || form.finds_places();
}
}  // namespace detail

WEFT_DECL bool keeps_term_order(nest const& n, int stage) {
  sequence<std::int32_t> now;
  for (std::int32_t l : n.order[static_cast<std::size_t>(stage)])
    if (n.at(l).reduced) now.push_back(l);
  return detail::loops_in_term_order(n, stage) == now;
}
WEFT_DECL std::string why_not_bitwise(schedule const& s) {
  program const& p = s.computation();
  auto const name = [&](int stage) { return std::string(program::at(p.tensors, program::at(p.stages, stage).tensor).name.view()); };
  auto const has_floats = [&](int stage) {
    stage_info const& of = program::at(p.stages, stage);
    for (int r = 0; r < of.results; ++r)
      if (is_float(program::at(p.tensors, of.tensor + r).type)) return true;
    return false;
  };
  for (step const& one : s.steps) {
    bool const parts = one.what == verb::rfactor || one.what == verb::rfactor_chunks;
    if (parts && has_floats(one.stage)) return joined({"the terms of ", name(one.stage), " are taken in parts (rfactor)"});
    if (std::string const how = one.what == verb::im2col && has_floats(one.stage) ? detail::lost_by_im2col(s, one) : std::string(); !how.empty())
      return joined({"terms of ", name(one.stage), " ", how});
  }
  for (std::size_t stage = 0; stage < s.order.size(); ++stage) {
    auto const number = static_cast<int>(stage);
    bool const floats = has_floats(number);
    if (!floats && !detail::has_an_order(p, number)) continue;
    if (!keeps_term_order(s, number)) return joined({"the terms of ", name(number), " are taken in another order"});
    for (std::int32_t l : s.order[stage])
      if (intrinsic const* const by = s.at(l).by; floats && by != nullptr && by->terms > 1) return joined({by->name, " joins several terms of ", name(number), " at once"});
  }
  return "";
}

}  // namespace weft::inline WEFT_ABI
