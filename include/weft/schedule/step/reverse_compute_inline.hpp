// Step: reverse_compute_inline.
#pragma once

#include "weft/schedule/placement.hpp"
#include "weft/schedule/step/compute_inline.hpp"
#include "weft/schedule/step/reverse_compute_at.hpp"

namespace weft::inline WEFT_ABI {

struct reverse_compute_inline_rule {
  static constexpr ruling check(nest const& n, step const& s) {
    if (s.stage < 0 || s.stage >= static_cast<int>(n.order.size()))
      return illegal(diagnosis::the_stage_is_none_of_this_schedule);
    if (is_scheduled(n, s.stage))
      return illegal(diagnosis::the_stage_was_scheduled_already__this_step_comes_before_all_others_on_it);
    int const read = only_stage_read(n, s.stage);
    if (read < 0 || !detail::reads_own_element(n.computation(), s.stage, program::at(n.computation().stages, read)))
      return illegal(diagnosis::the_stage_must_read_that_one_at_its_own_index_alone);
    if (ruling const r = can_be_placed(n, read); r.v != verdict::legal) return r;
    if (program::at(n.computation().stages, read).reduced > 0)
      return illegal(diagnosis::a_reduction_cannot_be_inlined__use_compute_at);
    if (program::at(n.computation().stages, read).scanned >= 0)
      return illegal(diagnosis::a_scan_cannot_be_inlined__use_compute_at);
    if (!(program::at(n.places, read) == placement()))
      return illegal(diagnosis::the_stage_of_this_axis_is_inlined__it_has_no_loops);
    return {};
  }
  static constexpr void perform(nest& n, step const& s) {
    int const read = only_stage_read(n, s.stage);
    sequence<std::int32_t> const& order = n.order[static_cast<std::size_t>(read)];
    if (!order.empty()) detail::take_loops(n, s.stage, order.back());
    for (placement& p : n.places) {
      if (p.loop >= 0 && n.at(p.loop).stage == read) p.loop = detail::same_loop(n, s.stage, p.loop);
      if (p.store >= 0 && n.at(p.store).stage == read) p.store = detail::same_loop(n, s.stage, p.store);
    }
    n.places[static_cast<std::size_t>(read)] = {true, -1};
  }

 private:
  /// -1: none, or several.
  static constexpr int only_stage_read(nest const& n, int stage) {
    program const& p = n.computation();
    int only = -1;
    bool several = false;
    detail::each_load(p, stage, [&](node const& x) {
      int const from = program::at(p.tensors, x.a).stage;
      several = several || (from >= 0 && only >= 0 && from != only);
      if (from >= 0) only = from;
    });
    return several ? -1 : only;
  }
};

/// `s.reverse_compute_inline`, as a part of `schedule`.
template <class Schedule>
struct reverse_compute_inline_step {
  /// Computes a stage in the loops of the one that it reads, which has none any more: its elements are computed where
  /// they are read.
  ///
  ///     for io: for ii vectorized:                    for io: for ii vectorized:
  ///       P[i] = f(x[i])                      ->        C[i] = g(f(x[i]))
  ///     for i:
  ///       C[i] = g(P[i])
  ///
  /// Same as compute_inline for that stage, and its steps for this one.
  ///
  /// Needs   `stage` reads one stage, at its own index alone; that one has no reduction, no scan and is no output; no step
  ///         before it names an axis of `stage`
  /// Keeps   each element is computed by the same operations, in its type
  /// Cost    where others read that stage too, its elements are computed there again
  /// Source  Feng et al. (TensorIR), ASPLOS 2023, section 3.2
  template <class Stage>
  constexpr void reverse_compute_inline(Stage const& stage) {
    step request{verb::reverse_compute_inline};
    request.stage = stage.stage;
    static_cast<Schedule&>(*this).take(request);
  }
};

}  // namespace weft::inline WEFT_ABI
