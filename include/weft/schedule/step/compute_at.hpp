// Step: compute_at.
#pragma once

#include "weft/schedule/placement.hpp"

namespace weft::inline WEFT_ABI {

struct compute_at_rule {
  static constexpr ruling check(nest const& n, step const& s) {
    if (ruling const r = can_be_placed(n, s.stage); r.v != verdict::legal) return r;
    if (ruling const r = n.usable(s.loops[0]); r.v != verdict::legal) return r;
    // Around in a circle: a stage in a loop of which `s.stage` is computed.
    for (int host = s.loops[0]; host >= 0; host = program::at(n.places, n.at(host).stage).loop)
      if (n.at(host).stage == s.stage) return illegal(diagnosis::a_stage_cannot_be_computed_inside_itself);
    return {};
  }
  static constexpr void perform(nest& n, step const& s) {
    n.place(s.stage, {false, s.loops[0]});
  }
};

/// `s.compute_at`, as a part of `schedule`.
template <class Schedule>
struct compute_at_step {
  /// Computes a stage inside a loop of a stage that reads it: at each iteration as much of it as is read there.
  ///
  ///     for y in 0..h: for x in 0..w:               for y in 0..h:
  ///       blur[y, x] = ..in[y, x]..                   for i in 0..3: for x in 0..w:
  ///     for y in 0..h: for x in 0..w:        ->         blur[i, x] = ..in[y + i, x]..
  ///       out[y, x] = ..blur[y .. y + 2, x]..         for x in 0..w:
  ///                                                     out[y, x] = ..blur[0 .. 2, x]..
  ///
  /// The stage's own axes then count the points of that part, and its memory holds no more than the part: on the stack
  /// where it is small, else in the workspace. What is read at an index that is itself read from memory takes all of
  /// the stage.
  ///
  /// Needs   all stages that read it run inside `i`; `i` is a loop of its stage, and neither it nor a loop around it is
  ///         unrolled or vectorized; of two parallel axes none runs inside the other. Split, reorder and mark loops first.
  /// Keeps   each element is computed by the same operations, perhaps several times
  /// Errors  schedule_error "compute_at: a stage that reads it runs outside of this axis"
  /// Cost    points in which two parts overlap are computed in both
  /// Source  Ragan-Kelley et al., PLDI 2013, section 3.2
  template <class Stage>
  constexpr void compute_at(Stage const& stage, axis i) {
    step request{verb::compute_at, 1, {i.id}};
    request.stage = stage.stage;
    static_cast<Schedule&>(*this).take(request);
  }
};

}  // namespace weft::inline WEFT_ABI
