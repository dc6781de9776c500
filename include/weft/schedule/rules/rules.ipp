#include "weft/schedule/pressure.hpp"
#include "weft/schedule/rules/planner.hpp"
#include "weft/schedule/rules/rules.hpp"

namespace weft::inline WEFT_ABI {

namespace detail {
static_assert(static_cast<std::uint8_t>(boldness::loops) == loops_alone);
/// A schedule as for the likely sizes, of steps that are legal for all; false: there is none. `taken`: which plan's it is, from rule_input::plan on.
inline bool schedule_open_sizes(schedule& s, rule_input const& in, std::uint8_t& taken) {
  if (in.likely.empty()) return false;
  schedule const guess(s.computation(), [&](int tensor, int dim) {
    return in.likely[static_cast<std::size_t>(tensor)][static_cast<std::size_t>(dim)];
  }, s.limits);
  for (boldness const how : {boldness::strips, boldness::all, boldness::loops}) {
    if (static_cast<std::uint8_t>(how) < in.plan) continue;
    if (how != boldness::loops && in.in_place) continue;  // lowering is not asked of these
    schedule planned = guess, tried = s;
    rule_plan(planned, tried, in, how).write();
    if (planned.state == verdict::illegal || tried.state == verdict::illegal) continue;
    bool fits = true;
    for (schedule const* one : {&planned, &tried}) fits = fits && written_out_too_often(*one).empty() && register_pressure(*one).empty();
    if (!fits) continue;
    s = static_cast<schedule&&>(tried);
    taken = static_cast<std::uint8_t>(how);
    return true;
  }
  return false;
}
}  // namespace detail

WEFT_DECL std::uint8_t schedule_by_rule(schedule& s, rule_input const& in) {
  std::uint8_t taken = in.plan;
  if (detail::schedule_open_sizes(s, in, taken)) return taken;
  bool const own = detail::is_the_rules_own(s);
  for (detail::boldness const how : {detail::boldness::strips, detail::boldness::all, detail::boldness::loops}) {
    if (static_cast<std::uint8_t>(how) < in.plan) continue;
    schedule tried = s;
    detail::rule_plan(tried, in, how).write();
    taken = static_cast<std::uint8_t>(how);
    if (!own) {  // what was chosen is no schedule where it is illegal, not another one
      s = static_cast<schedule&&>(tried);
      return taken;
    }
    if (tried.state == verdict::illegal || !written_out_too_often(tried).empty() || !register_pressure(tried).empty())
      continue;
    s = static_cast<schedule&&>(tried);
    return taken;
  }
  return taken;
}

}  // namespace weft::inline WEFT_ABI
