// Step: set_scope.
#pragma once

#include "weft/schedule/placement.hpp"

namespace weft::inline WEFT_ABI {

struct set_scope_rule {
  static constexpr ruling check(nest const& n, step const& s) {
    if (ruling const r = has_memory(n, s.stage); r.v != verdict::legal) return r;
    if (s.word == static_cast<int>(scope::workspace)) return {};
    if (s.word == static_cast<int>(scope::shared))  // its size is known when loops are made
      return detail::is_in_a_block(n, s.stage)
                 ? ruling{verdict::deferred}
                 : illegal(diagnosis::shared_memory_is_one_blocks_own__compute_the_stage_inside_of_a_loop_over_blocks);
    // Parts are known when loops are made; lowering has the last word.
    if (program::at(n.places, s.stage).loop >= 0) return {verdict::deferred};
    program const& p = n.computation();
    stage_info const& stage = program::at(p.stages, s.stage);
    std::int64_t elements = 1, bytes = 0;
    for (int d = 0; d < stage.spatial; ++d) {
      std::int64_t const extent = n.at(program::at(n.loop_of, stage.first_axis + d)).extent;
      if (extent == open_trips)
        elements = most_on_stack + 1;
      else if (extent < 0)
        return {verdict::deferred};
      else
        elements = extent > most_on_stack || elements * extent > most_on_stack ? most_on_stack + 1 : elements * extent;
    }
    for (int r = 0; r < stage.results; ++r)
      bytes += elements * size_bytes(program::at(p.tensors, stage.tensor + r).type);
    if (bytes <= most_on_stack) return {};
    return illegal(diagnosis::memory_on_the_stack_has_at_most_64_KiB__compute_the_stage_inside_a_loop);
  }
  static constexpr void perform(nest& n, step const& s) {
    n.wishes.push_back({s.stage, -1, 1, 0, static_cast<scope>(s.word)});
  }
};

/// `s.set_scope`, as a part of `schedule`.
template <class Schedule>
struct set_scope_step {
  /// Says where memory for a stage is: `weft::scope::stack`, `weft::scope::registers` or `weft::scope::workspace`, which is on
  /// the heap. Without it what is computed inside a loop is on the stack where it is small enough, all else in the workspace.
  /// So is, in a kernel that binds loops to a GPU, what is for the whole kernel (store_root, compute_with): no block has it alone.
  /// Memory on the stack becomes registers when each access has its own element, known when loops are unrolled; to ask for
  /// registers is to be told when it does not.
  ///
  /// On a GPU what is computed inside of blocks and around threads is shared by the block's threads, whatever is said.
  /// `weft::scope::shared` says so, and makes it so for what is computed inside of threads too, where each has its own part.
  ///
  /// Needs   no output, and not inlined; on the stack a known size, and no more than 64 KiB for all stages together. Shared:
  ///         bind of a loop around it to blocks before this step, a known size, and no more than the GPU's blocks have
  /// Keeps   all elements
  /// Errors  schedule_error "set_scope: memory on the stack has a known size", "set_scope: memory that is to be registers
  ///         has accesses ..", "set_scope: shared memory is one block's own ..", perhaps at the first call
  /// Cost    none; of shared memory, that of waiting for other threads where they come to a part in turns
  template <class Stage>
  constexpr void set_scope(Stage const& stage, scope where) {
    step request{verb::set_scope};
    request.stage = stage.stage;
    request.word = static_cast<std::uint8_t>(where);
    static_cast<Schedule&>(*this).take(request);
  }
};

}  // namespace weft::inline WEFT_ABI
