#include "weft/schedule/rules/gpu.hpp"
#include "weft/schedule/rules/gpu_planner.hpp"

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

WEFT_DECL void schedule_by_gpu_rule(schedule& s, rule_input const& in) {
  if (detail::schedule_open_sizes_on_gpu(s, in)) return;
  for (detail::boldness const how : {detail::boldness::all, detail::boldness::loops}) {
    if (how == detail::boldness::all && in.in_place) continue;
    schedule tried = s;
    detail::gpu_plan(tried, in, how).write();
    if (tried.state == verdict::illegal) continue;
    s = static_cast<schedule&&>(tried);
    return;
  }
}

}  // namespace weft::inline WEFT_ABI
