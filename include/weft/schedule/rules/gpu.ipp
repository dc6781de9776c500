#include "weft/schedule/rules/gpu.hpp"
#include "weft/schedule/rules/gpu_planner.hpp"
#include "weft/schedule/rules/rules.hpp"

namespace weft::inline WEFT_ABI {

namespace detail {
/// A schedule as for the likely sizes, of steps that are legal for all; false: there is none.
inline bool schedule_open_sizes_on_gpu(schedule& s, rule_input const& in) {
  if (in.likely.empty()) return false;
  schedule const guess(s.computation(), [&](int tensor, int dim) {
    return in.likely[static_cast<std::size_t>(tensor)][static_cast<std::size_t>(dim)];
  }, s.limits);
  for (boldness const how : {boldness::all, boldness::loops}) {
    if (how == boldness::all && in.in_place) continue;
    schedule planned = guess, tried = s;
    gpu_plan(planned, tried, in, how).write();
    if (planned.state == verdict::illegal || tried.state == verdict::illegal) continue;
    s = static_cast<schedule&&>(tried);
    return true;
  }
  return false;
}
}  // namespace detail

WEFT_DECL std::uint8_t schedule_by_gpu_rule(schedule& s, rule_input const& in) {
  if (detail::schedule_open_sizes_on_gpu(s, in)) return in.plan;
  std::uint8_t taken = in.plan;
  bool const own = detail::is_the_rules_own(s);
  for (detail::boldness const how : {detail::boldness::all, detail::boldness::loops}) {
    if ((how == detail::boldness::all && in.in_place) || static_cast<std::uint8_t>(how) < in.plan) continue;
    schedule tried = s;
    if (in.told != nullptr) in.told->clear();
    detail::gpu_plan(tried, in, how).write();
    taken = static_cast<std::uint8_t>(how);
    // What was chosen is no schedule where it is illegal, not another one.
    if (own && tried.state == verdict::illegal) continue;
    s = static_cast<schedule&&>(tried);
    return taken;
  }
  return taken;
}

}  // namespace weft::inline WEFT_ABI
