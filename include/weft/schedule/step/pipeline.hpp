// Steps: pipeline, double_buffer.
#pragma once

#include "weft/schedule/placement.hpp"

namespace weft::inline WEFT_ABI {

struct pipeline_rule {
  static constexpr ruling check(nest const& n, step const& s) {
    if (ruling const r = can_be_placed(n, s.stage); r.v != verdict::legal) return r;
    placement const at = program::at(n.places, s.stage);
    if (at.loop < 0) return illegal(diagnosis::the_stage_is_computed_in_no_loop_of_another__compute_at_first);
    if (at.beside) return illegal(diagnosis::a_stage_beside_another_has_its_whole_memory);
    if (s.factor < 1 || s.factor > 16) return illegal(diagnosis::a_stage_is_computed_1_to_16_iterations_ahead);
    return {};  // what copies asynchronously is looked at behind the step, as others may change what is read
  }
  static constexpr void perform(nest& n, step const& s) {
    placement& at = n.places[static_cast<std::size_t>(s.stage)];
    at.ahead = static_cast<std::int32_t>(s.factor);
    at.async = s.word == static_cast<int>(transfer::async);
  }
};

/// `s.pipeline` and `s.double_buffer`, as a part of `schedule`.
template <class Schedule>
struct pipeline_step {
  /// Computes a stage that is computed in a loop for a later iteration of it: a software pipeline.
  ///
  ///     for i in 0..n:                 for i in 0..min(ahead, n): panel[i % (ahead + 1)] = part i
  ///       panel = part i         ->    for i in 0..n:
  ///       .. panel ..                    if i + ahead < n: panel[(i + ahead) % (ahead + 1)] = part i + ahead
  ///                                      .. panel[i % (ahead + 1)] ..
  ///
  /// Of a chain of stages in one loop each may be so far ahead as it likes, and no less than what reads it: loads two
  /// iterations ahead of their use, and what is made of them one. There are as many copies of a stage's memory as iterations lie
  /// between its part and the last one that reads it, and one more.
  ///
  /// With `weft::transfer::async` a GPU copies the stage's elements from its memory to the block's by copies that run on by
  /// themselves (cp.async), while the threads go on: the loop waits for them where they are read first, `ahead` iterations later.
  ///
  ///     for i in 0..n:                                   for i in 0..ahead: if i < n: async tile[i % (ahead + 1)] = ..; commit
  ///       tile = A[..]                             ->    for i in 0..n:
  ///       .. tile ..                                       wait ahead - 1
  ///                                                        .. tile[i % (ahead + 1)] ..
  ///                                                        if i + ahead < n: async tile[(i + ahead) % (ahead + 1)] = ..
  ///                                                        commit
  ///
  /// The copies stand in front of what reads where others run ahead too, or the loop has no more than ahead + 1 iterations.
  /// Copies are of 16 bytes, or of 8 or 4, as alignment and vectorized or unrolled loops of the stage give them; what lies in less,
  /// single elements of f16, the thread copies. On GPUs before sm_80, and on a CPU, the word means the pipeline without it.
  ///
  /// Needs   compute_at before, and no store_at; a serial axis; 1 to 16 iterations. Stages that it reads in the same loop are
  ///         pipelined before it. async: a stage that copies, or has zero where a condition says so, what stands in memory in
  ///         front of the loop; its memory a block's; what reads it is computed later than it
  /// Keeps   each element is computed by the same operations, as often as before
  /// Cost    the copies of its memory, a remainder and a branch for each iteration. What runs at the same time is what the
  ///         processor finds by itself: on a CPU it pays where a part is longer than the processor looks ahead, and waits for
  ///         memory. Asynchronous: no registers on the way, and one barrier in each iteration
  /// Errors  schedule_error "pipeline: the stage is computed in no loop of another one; compute_at first", "pipeline: only a
  ///         stage that copies can be copied asynchronously .."
  /// Source  Lam, PLDI 1988; TVM, `software_pipeline_stage`, `software_pipeline_async_stages`; PTX ISA, cp.async
  template <class Stage>
  constexpr void pipeline(Stage const& stage, std::int64_t ahead, transfer how = transfer::plain) {
    step request{verb::pipeline};
    request.factor = ahead;
    request.stage = stage.stage;
    request.word = static_cast<std::uint8_t>(how);
    static_cast<Schedule&>(*this).take(request);
  }
  /// One iteration ahead: `s.pipeline(stage, 1)`, with two copies of its memory.
  template <class Stage>
  constexpr void double_buffer(Stage const& stage, transfer how = transfer::plain) {
    pipeline(stage, 1, how);
  }
};

}  // namespace weft::inline WEFT_ABI
