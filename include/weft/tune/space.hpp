// The search space of a how-lambda, or of a rule: run with other knob values, control flow included, it leads to other schedules.
#pragma once

#include <string>

#include "weft/compile.hpp"
#include "weft/schedule/rules/planner.hpp"
#include "weft/tune/outline.hpp"
#include "weft/tune/point.hpp"
#include "weft/tune/warp_features.hpp"

namespace weft::inline WEFT_ABI {
namespace tuning {

/// The schedules that one how-lambda can write for the arguments of a request; without one, those around the schedule by rule, whose
/// choices are knobs (rules.hpp).
///
/// Where the request is bitwise, a point is legal only if no sum of floats is taken in another order than the program's (schedule/term_order.hpp).
/// On a CPU a point is legal when no step is refused, its tile fits the vector registers of the target, no statement is written out
/// too often, and what its stages keep on the stack or in a thread's own memory fits the last level of cache that is one
/// core's own. Nothing is lowered for that. On a GPU it is lowered: its launches fit the GPU's threads, shared memory, registers (by
/// estimate) and grids (warp_features.hpp).
class space final : public landscape {
 public:
  /// The request, and what its pointers lead to, outlive the space.
  explicit space(compile_request const& r);
  space(space const&) = delete;
  space& operator=(space const&) = delete;
  point look(sequence<std::int32_t> const& choices) override;
  point glance(sequence<std::int32_t> const& choices) override;
  /// One run, in which each knob is chosen as it is met.
  point at_random(random_numbers& r, bool features) override;
  /// By rule: a run of a rule takes ten to a hundred times as long as a how-lambda.
  outline const* outlined_by() const override { return is_by_rule() ? &outline_ : nullptr; }
  point look_by_values(outlined const& wanted) override;
  /// Of its loop program (loop_features.hpp). Cost 0.1 to 0.4 ms
  bool describe(point const& p, sequence<float>& features, double& estimate) override;
  /// The schedule at a point, as make_loops takes it.
  schedule at(sequence<std::int32_t> const& choices) const;
  /// Why the point is no legal one; empty: it is.
  std::string why_not(sequence<std::int32_t> const& choices) const;
  /// The first legal point, the last knob fastest: what a call takes without tuning, so bitwise it may be one that is not legal (loses_bits). False: there is
  /// none among 4096.
  bool first(point& p);
  /// Where the request is bitwise, why results of floats may have other bits than direct evaluation; empty: they have these.
  std::string loses_bits(schedule const& s) const;
  compile_request const& request() const { return request_; }
  /// With these choices, before it is finished.
  schedule steps(sequence<std::int32_t> const& choices) const;
  /// Whether it stands around the rule's own schedule, which is then its first point.
  bool is_by_rule() const { return request_.by_rule; }
  /// The rule's plan for all of its points (rule_input::plan).
  std::uint8_t plan() const { return told_.plan; }

 private:
  point judged(schedule const& s) const;
  bool fits(schedule const& s) const;
  point looked_at(schedule s);
  gpu_costs costs_on_gpu(schedule const& s) const;
  std::string too_large_for_gpu(schedule const& s) const;
  compile_request request_;
  program expanded_;
  rule_input told_;
  weft::detail::plan_memory memory_;
  outline outline_;  // a knob's feature has its place there
  /// By rule: the last points that were looked at and legal. Who is looked at is often lowered in the same round, and measured: each of that
  /// was a run of the rule more.
  static constexpr std::size_t most_recent = 256;
  sequence<schedule> recent_;
  std::size_t next_recent_ = 0;
};

/// How many points a space has.
struct space_size {
  double points = 0, legal = 0;
  bool exact = false;        // else estimated
  std::int64_t looked_at = 0;
};
/// Counts a space whole, a few points at a time: for where something else is waited for.
class whole_count {
 public:
  /// `of` outlives it.
  explicit whole_count(landscape& of, double at_most = 1e6) : of_(of), at_most_(at_most) {}
  /// Looks at so many more; false: all are counted, or there are more than `at_most`.
  bool go_on(int points);
  /// `exact` once all are counted.
  space_size const& so_far() const { return size_; }

 private:
  landscape& of_;
  double at_most_;
  bool ended_ = false;
  sequence<std::int32_t> next_;
  space_size size_;
};
/// Counts the points, all of them when there are at most `most_counted` and that takes no longer than `most_seconds`; else it estimates
/// from walks at random, 64 at least and as many as the time allows.
///
/// Cost    4 us a point of a how-lambda, 20 to 250 us by rule, or for each of `walks`
/// Source  Knuth, Estimating the efficiency of backtrack programs, Mathematics of Computation 1975
space_size measure(landscape& l, std::int64_t most_counted = 1000000, std::uint64_t seed = 1, int walks = 2048, double most_seconds = 1e9);
/// "41,472 points, 3,120 legal", or "about 2.1e+09 points, 8 % legal (estimated)".
std::string text(space_size const& s);

/// What of a schedule a cost model is told: the knobs' values, then for its first stages what its loops are.
///
/// `places`: of each knob, by its name; empty: in the order in which they were met.
sequence<float> features_of(schedule const& s, sequence<std::size_t> const& places = {});

}  // namespace tuning
}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/tune/space.ipp"
#endif
