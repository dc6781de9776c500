// Step: compute_root.
#pragma once

#include "weft/schedule/placement.hpp"

namespace weft::inline WEFT_ABI {

struct compute_root_rule {
  static constexpr ruling check(nest const& n, step const& s) { return can_be_placed(n, s.stage); }
  static constexpr void perform(nest& n, step const& s) { n.place(s.stage, {}); }
};

/// `s.compute_root`, as a part of `schedule`.
template <class Schedule>
struct compute_root_step {
  /// Computes a stage whole, in a nest of its own before all that read it: where a stage stands that no step has placed.
  ///
  /// Needs   no stage that it reads is computed inside a loop of another
  /// Keeps   each element is computed once
  /// Cost    memory for the whole stage
  template <class Stage>
  constexpr void compute_root(Stage const& stage) {
    step request{verb::compute_root};
    request.stage = stage.stage;
    static_cast<Schedule&>(*this).take(request);
  }
};

}  // namespace weft::inline WEFT_ABI
