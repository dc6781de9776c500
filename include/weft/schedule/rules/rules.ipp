#include "weft/schedule/pressure.hpp"
#include "weft/schedule/rules/planner.hpp"
#include "weft/schedule/rules/rules.hpp"

namespace weft::inline WEFT_ABI {

WEFT_DECL void schedule_by_rule(schedule& s, rule_input const& in) {
  for (detail::boldness const how : {detail::boldness::strips, detail::boldness::all, detail::boldness::loops}) {
    if (how != detail::boldness::loops && in.in_place) continue;
    schedule tried = s;
    detail::rule_plan(tried, in, how).write();
    if (tried.state == verdict::illegal || !written_out_too_often(tried).empty() || !register_pressure(tried).empty())
      continue;
    s = static_cast<schedule&&>(tried);
    return;
  }
}

}  // namespace weft::inline WEFT_ABI
