#include "weft/base/joined.hpp"
#include "weft/schedule/term_order.hpp"

namespace weft::inline WEFT_ABI {

namespace detail {
/// The loops that a part of `loop` became, in the order of its iterations.
inline void add_in_order(nest const& n, int loop, sequence<std::int32_t>& out) {
  loop_info const& l = n.at(loop);
  if (l.live()) return out.push_back(loop);
  if (l.into >= 0) {
    if (n.at(l.into).first == loop) add_in_order(n, l.into, out);
    return;
  }
  add_in_order(n, l.outer, out);
  add_in_order(n, l.inner, out);
}
}  // namespace detail

WEFT_DECL bool keeps_term_order(nest const& n, int stage) {
  sequence<std::int32_t> natural, now;
  for (std::size_t l = 0; l < n.loops.size(); ++l) {
    loop_info const& loop = n.loops[l];
    if (loop.stage == stage && loop.parent < 0 && loop.first < 0 && loop.reduced && !loop.gone) detail::add_in_order(n, static_cast<int>(l), natural);
  }
  for (std::int32_t l : n.order[static_cast<std::size_t>(stage)])
    if (n.at(l).reduced) now.push_back(l);
  return natural == now;
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
  }
  for (std::size_t stage = 0; stage < s.order.size(); ++stage) {
    auto const number = static_cast<int>(stage);
    if (!has_floats(number)) continue;
    if (!keeps_term_order(s, number)) return joined({"the terms of ", name(number), " are taken in another order"});
    for (std::int32_t l : s.order[stage])
      if (intrinsic const* const by = s.at(l).by; by != nullptr && by->terms > 1) return joined({by->name, " joins several terms of ", name(number), " at once"});
  }
  return "";
}

}  // namespace weft::inline WEFT_ABI
