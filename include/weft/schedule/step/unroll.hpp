// Step: unroll.
#pragma once

#include "weft/schedule/nest.hpp"

namespace weft::inline WEFT_ABI {

struct unroll_rule {
  static constexpr ruling check(nest const& n, step const& s) {
    if (ruling const r = n.unmarked(s.loops[0]); r.v != verdict::legal) return r;
    if (n.has_shared_out(s.loops[0]))
      return illegal(diagnosis::a_parallel_axis_cannot_stand_inside_an_unrolled_or_vectorized_one__reorder_first);
    return few_iterations(n, s.loops[0]);
  }
  static constexpr ruling few_iterations(nest const& n, int loop) {
    std::int64_t const extent = n.at(loop).extent;
    if (extent == open_trips && !n.is_part(loop)) return illegal(diagnosis::an_unrolled_axis_has_an_open_extent__split_it_first);
    if (extent < 0) return {verdict::deferred};
    if (extent > 1024 && n.is_part(loop)) return {verdict::deferred};
    if (extent > 1024) return illegal(diagnosis::an_unrolled_axis_runs_more_than_1024_times__split_it_first);
    return {};
  }
  static constexpr void perform(nest& n, step const& s) { n.at(s.loops[0]).kind = loop_kind::unrolled; }
};

/// `s.unroll`, as a part of `schedule`.
template <class Schedule>
struct unroll_step {
  /// Writes the loop's body out once per iteration. A loop inside it is jammed: the copies stand in its body.
  ///
  ///     for i in 0..2:                    for k:
  ///       for k:              ->            body(0, k)
  ///         body(i, k)                      body(1, k)
  ///
  /// Needs   no parallel loop inside it; at most 1024 iterations (decided at the first call when the extent is
  ///         not a number yet)
  /// Cost    code grows by the number of iterations; together with vectorize it makes the register tile
  constexpr void unroll(axis i) {
    step request{verb::unroll, 1, {i.id}};
    static_cast<Schedule&>(*this).take(request);
  }
  /// Of an inner part: auto [io, ii] = s.split(i, factor, at_end); s.unroll(ii). Returns both.
  constexpr std::array<axis, 2> unroll(axis i, std::int64_t factor, tail at_end = tail::guard) {
    auto const parts = static_cast<Schedule&>(*this).split(i, factor, at_end);
    unroll(parts[1]);
    return parts;
  }
};

}  // namespace weft::inline WEFT_ABI
