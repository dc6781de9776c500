// Step: cache_write.
#pragma once

#include "weft/expr/rewrite.hpp"
#include "weft/schedule/handle.hpp"
#include "weft/schedule/placement.hpp"

namespace weft::inline WEFT_ABI {

struct cache_write_rule {
  static constexpr ruling check(nest const& n, step const& s) {
    if (s.stage < 0 || s.stage >= static_cast<int>(n.order.size()))
      return illegal(diagnosis::the_stage_is_none_of_this_schedule);
    if (is_scheduled(n, s.stage))
      return illegal(diagnosis::the_stage_was_scheduled_already__this_step_comes_before_all_others_on_it);
    return {};
  }
  static constexpr int rewrite(program& p, step const& s) { return add_origin(p, s.stage); }
  static constexpr void perform(nest& n, step const& s) {
    n.add_loops(rewrite(n.own_computation(), s));
    n.drop_loops(s.stage, false);
    for (std::int32_t l : program::at(n.order, s.stage)) n.at(l).scanned = false;  // a copy walks in any order
  }
};

/// `s.cache_write`, as a part of `schedule`.
template <class Schedule>
struct cache_write_step {
  /// Computes a stage in memory of its own, from where it is copied: put that into a loop by compute_at, and a tile is
  /// computed on the stack, or in registers, and copied out when it is done.
  ///
  ///     for i: for j: for k:                 for i: for j: for k:
  ///       C[i, j] += A[i, k] * B[k, j]         C_acc[i, j] += A[i, k] * B[k, j]
  ///                                    ->    for i: for j:
  ///                                            C[i, j] = C_acc[i, j]
  ///
  /// Needs   no step before it names the stage's axes or places it. Its reduced axes are gone from then on; the handle
  ///         that is returned has all axes, of the stage that computes.
  /// Keeps   the bits of all elements
  /// Errors  schedule_error "cache_write: the stage was split, reordered, marked or placed already"
  /// Cost    a write and a read for each element; none where the tile is in registers
  template <int Axes, int Spatial>
  constexpr stage_handle<Axes, Spatial> cache_write(stage_handle<Axes, Spatial> const& stage) {
    auto& s = static_cast<Schedule&>(*this);
    step request{verb::cache_write};
    request.stage = stage.stage;
    if (!s.take(request)) return {};
    return handle_of<Axes, Spatial>(s, static_cast<int>(s.order.size()) - 1);
  }
};

}  // namespace weft::inline WEFT_ABI
