// Step: decompose_reduction.
#pragma once

#include "weft/schedule/placement.hpp"

namespace weft::inline WEFT_ABI {

struct decompose_reduction_rule {
  static constexpr ruling check(nest const& n, step const& s) {
    program const& p = n.computation();
    if (s.stage < 0 || s.stage >= static_cast<int>(p.stages.size()))
      return illegal(diagnosis::the_stage_is_none_of_this_schedule);
    if (ruling const r = n.usable(s.loops[0]); r.v != verdict::legal) return r;
    if (n.at(s.loops[0]).stage != s.stage) return illegal(diagnosis::the_stage_does_not_have_this_axis);
    if (program::at(p.stages, s.stage).reduced == 0) return illegal(diagnosis::the_stage_reduces_nothing);
    return {};
  }
  static constexpr void perform(nest& n, step const& s) {
    n.starts[static_cast<std::size_t>(s.stage)] = s.loops[0];
    n.has_starts = true;
  }
};

/// `s.decompose_reduction`, as a part of `schedule`.
template <class Schedule>
struct decompose_reduction_step {
  /// Stores the identity of a reduction in front of a loop, in a nest of its own, where else the first terms find out that
  /// they are the first.
  ///
  ///     for ko: for i: for ki:                       for i: C[i] = 0
  ///       if ko == 0 and ki == 0: C[i] = 0      ->   for ko: for i: for ki:
  ///       C[i] += ..                                   C[i] += ..
  ///
  /// Needs   `loop` is a loop of the stage, and no reduced one runs outside of it, then or after later steps; no reduced one is bound
  ///         to threads, and no matrix unit runs the loops
  /// Keeps   the bits of all elements
  /// Cost    a store and a load for each element; what it saves is a choice each time that a tile is begun, if the
  ///         outermost reduced loop runs outside of spatial ones
  /// Source  TVM, tir.Schedule.decompose_reduction
  template <class Stage>
  constexpr void decompose_reduction(Stage const& stage, axis loop) {
    step request{verb::decompose_reduction, 1, {loop.id}};
    request.stage = stage.stage;
    static_cast<Schedule&>(*this).take(request);
  }
};

}  // namespace weft::inline WEFT_ABI
