// Step: compute_inline.
#pragma once

#include "weft/schedule/placement.hpp"

namespace weft::inline WEFT_ABI {

struct compute_inline_rule {
  static constexpr ruling check(nest const& n, step const& s) {
    if (ruling const r = can_be_placed(n, s.stage); r.v != verdict::legal) return r;
    if (program::at(n.computation().stages, s.stage).reduced > 0)
      return illegal(diagnosis::a_reduction_cannot_be_inlined__use_compute_at);
    if (program::at(n.computation().stages, s.stage).scanned >= 0)
      return illegal(diagnosis::a_scan_cannot_be_inlined__use_compute_at);
    if (n.has_guests(s.stage)) return illegal(diagnosis::a_stage_that_others_are_computed_in_cannot_be_inlined);
    return {};
  }
  static constexpr void perform(nest& n, step const& s) { n.place(s.stage, {true, -1}); }
};

/// `s.compute_inline`, as a part of `schedule`.
template <class Schedule>
struct compute_inline_step {
  /// Computes an element of a stage wherever it is read: the stage has neither loops nor memory.
  ///
  ///     for i in 0..n:                        for i in 0..n:
  ///       a[i] = f(x[i])               ->       b[i] = f(x[i]) + f(x[i + 1])
  ///     for i in 0..n - 1:
  ///       b[i] = a[i] + a[i + 1]
  ///
  /// Needs   no reduction, no scan, no output of the kernel
  /// Keeps   each element is computed by the same operations, in its type
  /// Errors  schedule_error "compute_inline: a reduction cannot be inlined"; where stages inlined into each other make
  ///         more than a million operations
  /// Cost    an element is computed once for each different index at which it is read
  /// Source  Ragan-Kelley et al., PLDI 2013, section 3.2
  template <class Stage>
  constexpr void compute_inline(Stage const& stage) {
    step request{verb::compute_inline};
    request.stage = stage.stage;
    static_cast<Schedule&>(*this).take(request);
  }
};

}  // namespace weft::inline WEFT_ABI
