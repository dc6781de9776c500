#include "weft/schedule/rules/gpu.hpp"
#include "weft/schedule/rules/gpu_planner.hpp"

namespace weft::inline WEFT_ABI {

WEFT_DECL void schedule_by_gpu_rule(schedule& s, rule_input const& in) {
  for (detail::boldness const how : {detail::boldness::all, detail::boldness::loops}) {
    if (how == detail::boldness::all && in.in_place) continue;
    schedule tried = s;
    if (in.told != nullptr) in.told->clear();
    detail::gpu_plan(tried, in, how).write();
    if (tried.state == verdict::illegal) continue;
    s = static_cast<schedule&&>(tried);
    return;
  }
}

}  // namespace weft::inline WEFT_ABI
