// Step: compute_with.
#pragma once

#include "weft/schedule/placement.hpp"

namespace weft::inline WEFT_ABI {

struct compute_with_rule {
  static constexpr ruling check(nest const& n, step const& s) {
    program const& p = n.computation();
    if (s.stage < 0 || s.stage >= static_cast<int>(p.stages.size()))
      return illegal(diagnosis::the_stage_is_none_of_this_schedule);
    if (ruling const r = n.usable(s.loops[0]); r.v != verdict::legal) return r;
    if (n.at(s.loops[0]).stage == s.stage) return illegal(diagnosis::a_stage_cannot_be_computed_inside_itself);
    if (program::at(n.places, n.at(s.loops[0]).stage).inlined)
      return illegal(diagnosis::the_stage_of_this_axis_is_inlined__it_has_no_loops);
    nest after = n;
    perform(after, s);
    sequence<sequence<std::int32_t>> const readers = detail::readers_of(after.computation());
    return detail::placement_check{after, readers}.beside(s.stage, s.loops[0]);
  }
  static constexpr void perform(nest& n, step const& s) {
    n.place(s.stage, {false, s.loops[0], placement::whole_kernel, true});
  }
};

/// `s.compute_with`, as a part of `schedule`.
template <class Schedule>
struct compute_with_step {
  /// Computes a stage in the loops of another one that neither reads it nor is read by it: at each iteration of loop `i`
  /// the elements that have the indices of those which the other stage computes there. Both are walked once.
  ///
  ///     for y in 0..h: for x in 0..w: dx[y, x] = ..in..          for y in 0..h:
  ///     for y in 0..h: for x in 0..w: dy[y, x] = ..in..     ->     for x in 0..w: dx[y, x] = ..in..
  ///                                                                for x in 0..w: dy[y, x] = ..in..
  ///
  /// The first dimension of the one is taken for the first of the other, and so on.
  ///
  /// Needs   along each dimension whose loops stand around or at `i` both have the same extent; no loop there is reduced,
  ///         unrolled or vectorized; the other stage is not placed itself. An output may be computed so. Where a loop there
  ///         is parallel, its iterations have elements of their own: outer parts of its axis stand outside of inner ones,
  ///         and what splits a part of an axis, or a fused one, divides it
  /// Keeps   each element is computed by the same operations; once, if that is so of all loops there, else perhaps in
  ///         several iterations
  /// Errors  schedule_error "compute_with: one of the stages needs the other"; argument_error at a call where the stage is
  ///         written over an input that is read in those loops, or by itself in several iterations
  /// Cost    none; elements that are computed several times
  /// Source  Halide's Func::compute_with
  template <class Stage>
  constexpr void compute_with(Stage const& stage, axis i) {
    step request{verb::compute_with, 1, {i.id}};
    request.stage = stage.stage;
    static_cast<Schedule&>(*this).take(request);
  }
};

}  // namespace weft::inline WEFT_ABI
