// Step: vectorize.
#pragma once

#include "weft/schedule/nest.hpp"

namespace weft::inline WEFT_ABI {

struct vectorize_rule {
  static constexpr ruling check(nest const& n, step const& s) {
    int const id = s.loops[0];
    if (ruling const r = n.unmarked(id); r.v != verdict::legal) return r;
    loop_info const& loop = n.at(id);
    if (loop.reduced) return illegal(diagnosis::a_reduction_axis_cannot_be_vectorized__use_rfactor);
    if (loop.scanned) return illegal(diagnosis::a_scanned_axis_is_walked_in_its_order__mark_another_axis);
    bool inside = false;
    for (std::int32_t other : n.order_of(id)) {
      if (n.at(other).kind == loop_kind::vectorized)
        return illegal(diagnosis::the_stage_has_a_vectorized_axis_already);
      if (inside && n.share_an_axis(other, id))
        return illegal(diagnosis::an_inner_part_of_this_axis_runs_inside_it__vectorize_that_part);
      if (inside && is_shared_out(n.at(other).kind))
        return illegal(diagnosis::a_parallel_axis_cannot_stand_inside_an_unrolled_or_vectorized_one__reorder_first);
      inside = inside || other == id;
    }
    return few_lanes(n, id);
  }
  static constexpr ruling few_lanes(nest const& n, int loop) {
    std::int64_t const extent = n.at(loop).extent;
    if (extent == open_trips && !n.is_part(loop)) return illegal(diagnosis::a_vectorized_axis_has_an_open_extent__split_it_first);
    if (extent < 0) return {verdict::deferred};
    if (extent > 1024 && n.is_part(loop)) return {verdict::deferred};
    if (extent > 1024) return illegal(diagnosis::a_vectorized_axis_has_more_than_1024_lanes__split_it_first);
    return {};
  }
  static constexpr void perform(nest& n, step const& s) { n.at(s.loops[0]).kind = loop_kind::vectorized; }
};

/// `s.vectorize`, as a part of `schedule`.
template <class Schedule>
struct vectorize_step {
  /// Runs the loop's iterations as lanes of vector instructions; more lanes than the machine has become
  /// several vectors.
  ///
  ///     for j in 0..64:                   C[.., 0:16] += ...
  ///       C[.., j] += ...       ->        C[.., 16:32] += ...     (on a machine with 16 lanes)
  ///
  /// Needs   a spatial axis that is not scanned, one per stage; at most 1024 iterations (perhaps decided at the first call)
  /// Tail    masked lanes; they neither read nor write memory
  constexpr void vectorize(axis i) {
    step request{verb::vectorize, 1, {i.id}};
    static_cast<Schedule&>(*this).take(request);
  }
  /// Of an inner part: auto [io, ii] = s.split(i, lanes, at_end); s.vectorize(ii). Returns both.
  constexpr std::array<axis, 2> vectorize(axis i, std::int64_t lanes, tail at_end = tail::guard) {
    auto const parts = static_cast<Schedule&>(*this).split(i, lanes, at_end);
    vectorize(parts[1]);
    return parts;
  }
};

}  // namespace weft::inline WEFT_ABI
