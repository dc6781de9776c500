// Steps: store_at, store_root.
#pragma once

#include "weft/schedule/placement.hpp"

namespace weft::inline WEFT_ABI {

struct store_root_rule {
  static constexpr ruling check(nest const& n, step const& s) {
    if (ruling const r = can_be_placed(n, s.stage); r.v != verdict::legal) return r;
    if (program::at(n.places, s.stage).loop < 0)
      return illegal(diagnosis::the_stage_is_computed_in_no_loop_of_another__compute_at_first);
    if (program::at(n.places, s.stage).beside) return illegal(diagnosis::a_stage_beside_another_has_its_whole_memory);
    return {};
  }
  static constexpr void perform(nest& n, step const& s) {
    n.places[static_cast<std::size_t>(s.stage)].store = placement::whole_kernel;
  }
};
struct store_at_rule {
  static constexpr ruling check(nest const& n, step const& s) {
    if (ruling const r = store_root_rule::check(n, s); r.v != verdict::legal) return r;
    return n.usable(s.loops[0]);
  }
  static constexpr void perform(nest& n, step const& s) {
    n.places[static_cast<std::size_t>(s.stage)].store = s.loops[0];
  }
};

/// `s.store_at` and `s.store_root`, as a part of `schedule`.
template <class Schedule>
struct store_at_step {
  /// Gives a stage that is computed in a loop memory for all iterations of a loop further out. What one iteration has
  /// computed, the next ones find there: where the part that is read moves forward along one axis, only what is new of it
  /// is computed (a sliding window).
  ///
  ///     for y in 0..h:                                 for y in 0..h:
  ///       for i in 0..3: for x: blur[y + i, x]           for i in (y == 0 ? 0 : 2)..3: for x: blur[y + i, x]
  ///       for x: out[y, x] = ..blur[y .. y + 2, x]..     for x: out[y, x] = ..blur[y .. y + 2, x]..
  ///
  /// Along a loop between the two with which what is read does not move, all of it is computed in the first iteration, which is written out apart:
  /// so the first tile of rows can pack the panel that all tiles read.
  ///
  ///     for jo:                                        for jo:
  ///       for io: for k:                                 for k: { panel[k] = B[k, jo]; C[0, jo] += A[0, k] * panel[k] }
  ///         panel[k] = B[k, jo]                ->        for io in 1..I: for k: C[io, jo] += A[io, k] * panel[k]
  ///         C[io, jo] += A[io, k] * panel[k]
  ///
  /// Needs   compute_at before; `i` stands around that loop, and neither that loop nor one between is parallel
  /// Keeps   each element is computed by the same operations
  /// Errors  schedule_error "store_at: the axis does not stand around the loop in which the stage is computed"
  /// Cost    memory for all that is read inside `i`, unless fold_storage keeps less; fewer elements computed twice
  /// Source  Ragan-Kelley et al., PLDI 2013, section 3.2
  template <class Stage>
  constexpr void store_at(Stage const& stage, axis i) {
    step request{verb::store_at, 1, {i.id}};
    request.stage = stage.stage;
    static_cast<Schedule&>(*this).take(request);
  }
  /// The same for the whole kernel: memory for the whole stage.
  template <class Stage>
  constexpr void store_root(Stage const& stage) {
    step request{verb::store_root};
    request.stage = stage.stage;
    static_cast<Schedule&>(*this).take(request);
  }
};

}  // namespace weft::inline WEFT_ABI
