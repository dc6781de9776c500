// Step: prefetch.
#pragma once

#include "weft/schedule/handle.hpp"
#include "weft/schedule/placement.hpp"

namespace weft::inline WEFT_ABI {

struct prefetch_rule {
  static constexpr ruling check(nest const& n, step const& s) {
    int const id = s.loops[0];
    if (ruling const r = n.usable(id); r.v != verdict::legal) return r;
    if (s.tensor < 0 || s.tensor >= static_cast<int>(n.computation().tensors.size()) ||
        !detail::reads_tensor(n.computation(), n.at(id).stage, s.tensor))
      return illegal(diagnosis::the_stage_does_not_read_this_tensor);
    if (is_written_out(n.at(id).kind))
      return illegal(diagnosis::an_unrolled_or_vectorized_axis_is_no_loop_to_prefetch_in);
    if (s.factor < 1 || s.factor > 1 << 20) return illegal(diagnosis::a_prefetch_is_1_to_2_to_the_20_iterations_ahead);
    return {};
  }
  static constexpr void perform(nest& n, step const& s) { n.fetches.push_back({s.loops[0], s.tensor, s.factor}); }
};

/// `s.prefetch`, as a part of `schedule`.
template <class Schedule>
struct prefetch_step {
  /// Asks in each iteration of a loop for the cache lines in which stands what the iteration `distance` further on reads of a
  /// tensor; of loops inside, what their first iteration reads.
  ///
  ///     for k in 0..K:                       for k in 0..K:
  ///       .. B[k, j] ..            ->          prefetch B[k + distance, j]
  ///                                            .. B[k, j] ..
  ///
  /// Needs   a loop of a stage that reads the tensor, which is not unrolled or vectorized; it is split and marked before. A
  ///         distance from 1 to 2^20
  /// Keeps   all results. Nothing is read: a prefetch of an address that is not the program's does nothing, so the last
  ///         iterations may ask for what stands beyond the end
  /// Cost    an instruction for each access, at most 32 for a loop; indices that are read from memory are left out. Pays where
  ///         the processor does not see the pattern itself, as in strides beyond a page
  /// Source  TVM, `Stage.prefetch`; Halide, `Func::prefetch`
  template <int Rank>
  constexpr void prefetch(input_handle<Rank> from, axis loop, std::int64_t distance) {
    auto& s = static_cast<Schedule&>(*this);
    bool const known = from.input >= 0 && from.input < static_cast<int>(s.computation().inputs.size());
    ahead_of(known ? program::at(s.computation().inputs, from.input).tensor : -1, loop, distance);
  }
  /// Of the first result of a stage.
  template <int Axes, int Spatial>
  constexpr void prefetch(stage_handle<Axes, Spatial> const& from, axis loop, std::int64_t distance) {
    auto& s = static_cast<Schedule&>(*this);
    bool const known = from.stage >= 0 && from.stage < static_cast<int>(s.computation().stages.size());
    ahead_of(known ? program::at(s.computation().stages, from.stage).tensor : -1, loop, distance);
  }

 private:
  constexpr void ahead_of(int tensor, axis loop, std::int64_t distance) {
    step request{verb::prefetch, 1, {loop.id}, distance};
    request.tensor = tensor;
    static_cast<Schedule&>(*this).take(request);
  }
};

}  // namespace weft::inline WEFT_ABI
