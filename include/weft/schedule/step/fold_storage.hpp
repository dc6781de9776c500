// Step: fold_storage.
#pragma once

#include "weft/schedule/placement.hpp"

namespace weft::inline WEFT_ABI {

struct fold_storage_rule {
  static constexpr ruling check(nest const& n, step const& s) {
    int const id = s.loops[0];
    if (id < 0 || id >= static_cast<int>(n.loops.size()))
      return illegal(diagnosis::the_axis_belongs_to_no_stage_of_this_schedule);
    loop_info const& l = n.at(id);
    if (l.parent >= 0 || l.reduced) return illegal(diagnosis::memory_is_folded_along_an_axis_of_the_stage_itself);
    if (ruling const r = can_be_placed(n, l.stage); r.v != verdict::legal) return r;
    if (program::at(n.places, l.stage).loop < 0)
      return illegal(diagnosis::the_stage_is_computed_in_no_loop_of_another__compute_at_first);
    if (program::at(n.places, l.stage).beside) return illegal(diagnosis::a_stage_beside_another_has_its_whole_memory);
    if (s.factor < 1) return illegal(diagnosis::a_factor_must_be_at_least_1);
    return {};
  }
  static constexpr void perform(nest& n, step const& s) { n.at(s.loops[0]).fold = s.factor; }
};

/// `s.fold_storage`, as a part of `schedule`.
template <class Schedule>
struct fold_storage_step {
  /// Keeps only the last `factor` elements along an axis of a stage that is computed in a loop: its memory is a ring.
  ///
  ///     blur[y, x], 0 <= y < h    ->    blur[y % 4, x]
  ///
  /// Needs   compute_at before; `i` is an axis of the stage as `axes()` gives it; no more than `factor` elements along it
  ///         are read at a time (decided at the first call)
  /// Cost    a remainder for each access; none to speak of when factor is a power of two and `i` is not vectorized
  /// Source  Ragan-Kelley et al., PLDI 2013, section 4.3 (storage folding)
  constexpr void fold_storage(axis i, std::int64_t factor) {
    step request{verb::fold_storage, 1, {i.id}, factor};
    static_cast<Schedule&>(*this).take(request);
  }
};

}  // namespace weft::inline WEFT_ABI
