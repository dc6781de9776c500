// Step: cache_read.
#pragma once

#include "weft/expr/rewrite.hpp"
#include "weft/schedule/handle.hpp"
#include "weft/schedule/placement.hpp"

namespace weft::inline WEFT_ABI {

struct cache_read_rule {
  static constexpr ruling check(nest const& n, step const& s) {
    program const& p = n.computation();
    if (s.stage < 0 || s.stage >= static_cast<int>(p.stages.size()))
      return illegal(diagnosis::the_stage_is_none_of_this_schedule);
    if (s.tensor < 0 || s.tensor >= static_cast<int>(p.tensors.size()) || !detail::reads_tensor(p, s.stage, s.tensor))
      return illegal(diagnosis::the_stage_does_not_read_this_tensor);
    // What is computed in a loop of a reader would have to stand where the copy is made.
    int const read = program::at(p.tensors, s.tensor).stage;
    if (read >= 0 && !(program::at(n.places, read) == placement()))
      return illegal(diagnosis::the_stage_is_computed_inside_another__cache_read_it_before_compute_at);
    return {};
  }
  static constexpr int rewrite(program& p, step const& s) { return add_copy(p, s.tensor, static_cast<readers>(s.word) == readers::all ? -1 : s.stage); }
  static constexpr void perform(nest& n, step const& s) { n.add_loops(rewrite(n.own_computation(), s)); }
};

/// `s.cache_read`, as a part of `schedule`.
template <class Schedule>
struct cache_read_step {
  /// Lets a stage read a copy of a tensor, made by a stage of its own: put it into a loop by compute_at, and only what is
  /// read there is copied, side by side.
  ///
  ///     for i: for k:                       for i: for j: copy[i, j] = A[i, j]
  ///       .. A[i, k] ..              ->     for i: for k:
  ///                                           .. copy[i, k] ..
  ///
  /// Needs   `reader` reads the tensor; one that is computed elsewhere than in a nest of its own cannot be copied any more
  /// Returns the handle of the copy, whose axes are the tensor's dimensions
  /// Keeps   the bits of all elements
  /// Cost    a read and a write for each element that is copied
  template <int Rank, class Reader>
  constexpr stage_handle<Rank> cache_read(input_handle<Rank> from, Reader const& reader) {
    return copy_of<Rank>(tensor_of(static_cast<Schedule const&>(*this), from), reader.stage);
  }
  /// Of a result of a stage, the first unless it is `from.result(n)`.
  template <int Axes, int Spatial, class Reader>
  constexpr stage_handle<Spatial> cache_read(stage_handle<Axes, Spatial> const& from, Reader const& reader) {
    return copy_of<Spatial>(tensor_of(static_cast<Schedule const&>(*this), from), reader.stage);
  }
  /// One copy for all stages that read the tensor: a row that several stages go over is read from memory once.
  ///
  ///     for i: mean = sum of x[i, ..]                for i: for j: copy[j] = x[i, j]
  ///     for i: for j: y = x[i, j] - mean      ->            mean = sum of copy[..]
  ///                                                         for j: y = copy[j] - mean          with compute_at(.., i) of copy and mean
  ///
  /// Needs   a stage that reads the tensor; the rest as above
  /// Returns the handle of the copy, whose axes are the tensor's dimensions
  /// Keeps   the bits of all elements
  /// Cost    a read and a write for each element that is copied, once for all readers
  template <int Rank>
  constexpr stage_handle<Rank> cache_read(input_handle<Rank> from) {
    int const tensor = tensor_of(static_cast<Schedule const&>(*this), from);
    return copy_of<Rank>(tensor, first_reader(tensor), readers::all);
  }
  /// Of a result of a stage, the first unless it is `from.result(n)`.
  template <int Axes, int Spatial>
  constexpr stage_handle<Spatial> cache_read(stage_handle<Axes, Spatial> const& from) {
    int const tensor = tensor_of(static_cast<Schedule const&>(*this), from);
    return copy_of<Spatial>(tensor, first_reader(tensor), readers::all);
  }

 private:
  /// Where nobody reads it any stage, which the rule says of.
  constexpr int first_reader(int tensor) const {
    program const& p = static_cast<Schedule const&>(*this).computation();
    int stage = 0;
    while (stage < static_cast<int>(p.stages.size()) && (tensor < 0 || !detail::reads_tensor(p, stage, tensor))) ++stage;
    return stage < static_cast<int>(p.stages.size()) ? stage : 0;
  }
  template <int Rank>
  constexpr stage_handle<Rank> copy_of(int tensor, int reader, readers who = readers::one) {
    auto& s = static_cast<Schedule&>(*this);
    step request{verb::cache_read};
    request.stage = reader;
    request.word = static_cast<std::uint8_t>(who);
    request.tensor = tensor >= 0 && program::at(s.computation().tensors, tensor).rank == Rank ? tensor : -1;
    if (!s.take(request)) return {};
    return handle_of<Rank>(s, static_cast<int>(s.order.size()) - 1);
  }
};

}  // namespace weft::inline WEFT_ABI
