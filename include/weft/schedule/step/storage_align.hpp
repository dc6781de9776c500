// Step: storage_align.
#pragma once

#include "weft/schedule/placement.hpp"

namespace weft::inline WEFT_ABI {

// step::numbers: dimension, factor, offset.
struct storage_align_rule {
  static constexpr ruling check(nest const& n, step const& s) {
    if (ruling const r = has_memory(n, s.stage); r.v != verdict::legal) return r;
    bool const fits = s.numbers.size() == 3 && s.numbers[0] >= 0 &&
                      s.numbers[0] < program::at(n.computation().stages, s.stage).spatial && s.numbers[1] >= 1 &&
                      s.numbers[1] <= 4096 && s.numbers[2] >= 0 && s.numbers[2] < s.numbers[1];
    if (fits) return {};
    return illegal(diagnosis::a_stride_has_a_dimension_of_the_stage_a_factor_from_1_to_4096_and_an_offset_below_it);
  }
  static constexpr void perform(nest& n, step const& s) {
    n.wishes.push_back({s.stage, static_cast<std::int32_t>(s.numbers[0]), s.numbers[1], s.numbers[2]});
  }
};

/// `s.storage_align`, as a part of `schedule`.
template <class Schedule>
struct storage_align_step {
  /// Makes the stride of a dimension of the stage's memory `factor` * n + `offset` elements, with the least n that is
  /// enough.
  ///
  ///     row: f32[64, 32], strides 32, 1     ->     storage_align(row, 0, 16, 8)     ->     strides 40, 1
  ///
  /// So rows begin at multiples of a cache line, or a column does not fall into one set of the cache.
  ///
  /// Needs   no output, and not inlined; factor from 1 to 4096, offset below it
  /// Keeps   all elements; memory between them is not used
  /// Cost    memory, at most `factor` elements for each step of the dimension
  /// Source  TVM, `Schedule.storage_align`
  template <class Stage>
  constexpr void storage_align(Stage const& stage, int dim, std::int64_t factor, std::int64_t offset = 0) {
    step request{verb::storage_align};
    request.stage = stage.stage;
    for (std::int64_t number : {std::int64_t(dim), factor, offset}) request.numbers.push_back(number);
    static_cast<Schedule&>(*this).take(request);
  }
};

}  // namespace weft::inline WEFT_ABI
