// Step: jam.
#pragma once

#include "weft/schedule/nest.hpp"

namespace weft::inline WEFT_ABI {

struct jam_rule {
  static constexpr ruling check(nest const& n, step const& s) {
    verdict v = verdict::legal;
    for (int i = 0; i < s.count; ++i) {
      int const l = s.loops[static_cast<std::size_t>(i)];
      if (ruling const r = n.usable(l); r.v != verdict::legal) return r;
      if (n.at(l).kind != loop_kind::serial || n.is_in_tile(l)) return illegal(diagnosis::the_axis_is_unrolled_vectorized_or_parallel_already);
      if (n.jam_of(l) > 0) return illegal(diagnosis::the_axis_runs_as_one_with_others__split_and_mark_it_before);
      for (int k = 0; k < i; ++k) {
        int const other = s.loops[static_cast<std::size_t>(k)];
        if (other == l) return illegal(diagnosis::an_axis_is_named_twice);
        if (n.at(other).stage == n.at(l).stage) return illegal(diagnosis::loops_that_run_as_one_are_of_different_stages);
      }
      if (n.root_of(n.at(l).stage) != n.root_of(n.at(s.loops[0]).stage))
        return illegal(diagnosis::stages_whose_loops_run_as_one_are_computed_in_one_loop__compute_at_first);
      std::int64_t const first = n.at(s.loops[0]).extent, extent = n.at(l).extent;
      if (first >= 0 && extent >= 0 && first != extent) return illegal(diagnosis::loops_that_run_as_one_have_one_extent);
      if (first == -1 || extent == -1) v = verdict::deferred;
    }
    return {v};
  }
  static constexpr void perform(nest& n, step const& s) {
    sequence<std::int32_t> together;
    for (int i = 0; i < s.count; ++i) together.push_back(s.loops[static_cast<std::size_t>(i)]);
    n.jams.push_back(together);
  }
};

/// `s.jam`, as a part of `schedule`.
template <class Schedule>
struct jam_step {
  /// Runs loops of stages that are computed in one loop as one loop: each iteration does what each of them does in it.
  ///
  ///     for r in 0..n:                                 for r in 0..n - 1:
  ///       if r + 1 < n:                                  for k in 0..m:
  ///         for k in 0..m: top = max(top, A[r + 1, k])     top = max(top, A[r + 1, k])
  ///       for j in 0..m: C[r, j] = A[r, j] - ..       ->   C[r, j] = A[r, j] - ..
  ///                                                    the last rows as before
  ///
  /// It is for stages that `pipeline` computes for later iterations than what reads them: then none waits for another, and one that waits for memory, one that computes and one
  /// that stores do so at the same time, as a processor does not find over a whole row. Of two stages of one iteration the later one may read what the earlier one has
  /// written in the same iteration of the inner loop.
  ///
  /// Needs   2 to 16 serial loops, each of another stage, which are computed in one loop; one extent, a number when the kernel is compiled. Of each
  ///         stage nothing but its own loop stands there, around the named one no loop of more than one iteration. Where the loops cannot be one, or one needs what another makes,
  ///         they stay apart (`kernel.ir` shows it)
  /// Keeps   each element is computed by the same operations, in the same order
  /// Errors  schedule_error "jam: loops that run as one have one extent", "jam: the stages .. are computed in one loop; compute_at first"
  /// Cost    what all of them keep in registers at once; the code of the last iterations, in which a stage has no more to do, once more. Softmax of 4096 x 1024, rows of which the maximum, e^x, the
  ///         sum and the result run 3, 2, 1 and 0 rows ahead: 28 -> 39 GB/s in intrinsics (EPYC, Zen 4, one thread, 2026-11-29)
  /// Source  loop fusion, or jamming (Allen and Cocke, A catalogue of optimizing transformations, 1971)
  template <class... Axis>
  constexpr void jam(Axis... axes) {
    static_assert(sizeof...(Axis) >= 2 && sizeof...(Axis) <= step::max_axes, "weft: jam takes 2 to 16 axes");
    step request{verb::jam, static_cast<std::int32_t>(sizeof...(Axis)), {axes.id...}};
    static_cast<Schedule&>(*this).take(request);
  }
};

}  // namespace weft::inline WEFT_ABI
