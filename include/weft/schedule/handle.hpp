// What a how-lambda is given to name inputs and stages by.
#pragma once

#include <array>

#include "weft/schedule/nest.hpp"

namespace weft::inline WEFT_ABI {

/// The handle of an input in a how-lambda; a plain number has rank 0.
template <int Rank>
struct input_handle {
  int input = -1;
};
/// The handle of a stage in a how-lambda. Spatial: how many of its axes are not reduced.
template <int Axes, int Spatial = Axes>
struct stage_handle {
  int stage = -1;
  std::array<axis, static_cast<std::size_t>(Axes)> all{};
  std::int32_t number = 0;  // which of its results a step takes that takes a tensor
  /// Another result than the first, for a step that takes a tensor: `s.cache_read(both.result(1), reader)`.
  constexpr stage_handle result(std::int32_t n) const { return {stage, all, n}; }
  /// The stage's axes, spatial ones first: `auto [i, j, k] = C.axes();`
  constexpr std::array<axis, static_cast<std::size_t>(Axes)> axes() const { return all; }
};
/// The handle of a stage that a nest has.
template <int Axes, int Spatial = Axes>
constexpr stage_handle<Axes, Spatial> handle_of(nest const& n, int stage) {
  stage_handle<Axes, Spatial> h{stage, {}};
  stage_info const& s = program::at(n.computation().stages, stage);
  for (int i = 0; i < Axes && i < s.axes(); ++i)  // rfactor may have left fewer
    h.all[static_cast<std::size_t>(i)] = axis{program::at(n.loop_of, s.first_axis + i)};
  return h;
}
/// The tensor that it stands for; -1: none.
template <int Axes, int Spatial>
constexpr int tensor_of(nest const& n, stage_handle<Axes, Spatial> const& of) {
  program const& p = n.computation();
  if (of.stage < 0 || of.stage >= static_cast<int>(p.stages.size())) return -1;
  stage_info const& s = program::at(p.stages, of.stage);
  return of.number >= 0 && of.number < s.results ? s.tensor + of.number : -1;
}
template <int Rank>
constexpr int tensor_of(nest const& n, input_handle<Rank> of) {
  program const& p = n.computation();
  return of.input >= 0 && of.input < static_cast<int>(p.inputs.size()) ? program::at(p.inputs, of.input).tensor : -1;
}

}  // namespace weft::inline WEFT_ABI
