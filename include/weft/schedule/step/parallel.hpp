// Step: parallel.
#pragma once

#include "weft/schedule/nest.hpp"

namespace weft::inline WEFT_ABI {

/// For parallel: how many threads run a loop at most.
struct thread_limit {
  std::int64_t most = 0;
  /// So many, 1 to 2^20.
  constexpr explicit thread_limit(std::int64_t threads) : most(threads) {}
};

// step::numbers: none, or how many threads run the loop at most.
struct parallel_rule {
  static constexpr ruling check(nest const& n, step const& s) {
    int const id = s.loops[0];
    if (ruling const r = n.unmarked(id); r.v != verdict::legal) return r;
    if (n.at(id).reduced) return illegal(diagnosis::a_reduction_axis_cannot_run_in_parallel__use_rfactor);
    if (n.at(id).scanned) return illegal(diagnosis::a_scanned_axis_is_walked_in_its_order__mark_another_axis);
    if (s.numbers.size() > 1 || (s.numbers.size() == 1 && (s.numbers[0] < 1 || s.numbers[0] > 1 << 20)))
      return illegal(diagnosis::a_parallel_axis_is_run_by_at_least_1_thread);
    bool outside = true;
    for (std::int32_t other : n.order_of(id)) {
      if (other == id) outside = false;
      loop_kind const kind = n.at(other).kind;
      if (kind == loop_kind::parallel) return illegal(diagnosis::the_stage_has_a_parallel_axis_already);
      if (kind > loop_kind::virtual_thread) return illegal(diagnosis::another_axis_is_bound_to_that_already);
      if (outside && kind != loop_kind::serial)
        return illegal(diagnosis::a_parallel_axis_cannot_stand_inside_an_unrolled_or_vectorized_one__reorder_first);
    }
    return {};
  }
  static constexpr void perform(nest& n, step const& s) {
    n.at(s.loops[0]).kind = loop_kind::parallel;
    n.at(s.loops[0]).threads = s.numbers.empty() ? 0 : static_cast<std::int32_t>(s.numbers[0]);
  }
};

/// `s.parallel`, as a part of `schedule`.
template <class Schedule>
struct parallel_step {
  /// Shares the loop's iterations out to the threads of the pool, in contiguous pieces.
  ///
  /// Needs   a spatial axis that is not scanned, one per stage, not inside an unrolled or vectorized one
  /// Cost    one fork and join each time the loop is reached: put it outermost, or outside all but few iterations
  constexpr void parallel(axis i) {
    step request{verb::parallel, 1, {i.id}};
    static_cast<Schedule&>(*this).take(request);
  }
  /// The same by no more than so many threads, `s.parallel(i, weft::thread_limit(4))`, each of which runs one piece: for a loop
  /// that memory bounds, or that is too short for all of them. On weft's pool and on any executor.
  constexpr void parallel(axis i, thread_limit threads) {
    step request{verb::parallel, 1, {i.id}};
    request.numbers.push_back(threads.most);
    static_cast<Schedule&>(*this).take(request);
  }
  /// In pieces of `grain` iterations: auto [io, ii] = s.split(i, grain, at_end); s.parallel(io). Returns both.
  constexpr std::array<axis, 2> parallel(axis i, std::int64_t grain, tail at_end = tail::guard) {
    auto const parts = static_cast<Schedule&>(*this).split(i, grain, at_end);
    parallel(parts[0]);
    return parts;
  }
};

}  // namespace weft::inline WEFT_ABI
