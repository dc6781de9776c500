// Step: swizzle.
#pragma once

#include "weft/schedule/placement.hpp"

namespace weft::inline WEFT_ABI {

struct swizzle_rule {
  static constexpr ruling check(nest const& n, step const& s) {
    if (ruling const r = has_memory(n, s.stage); r.v != verdict::legal) return r;
    if (program::at(n.computation().stages, s.stage).spatial < 2)
      return illegal(diagnosis::rows_are_swizzled__the_stage_has_two_dimensions_or_more);
    return {verdict::deferred};  // how long rows are is known when loops are made
  }
  static constexpr void perform(nest& n, step const& s) { n.wishes.push_back({s.stage, memory_wish::swizzled}); }
};

/// `s.swizzle`, as a part of `schedule`.
template <class Schedule>
struct swizzle_step {
  /// Exchanges units of 16 bytes within the rows of memory that a GPU's block shares, by the number of the row, so that what
  /// lies above each other in eight rows meets no bank twice. Rows take no more memory, as they do by `storage_align`.
  ///
  ///     tile: f16[64, 32]     ->     unit u of row r, 8 elements, stands where unit u xor (r / 2) % 4 would
  ///
  /// In general it is (r / p) % (8 / p), where p is so that 8 rows of a stride fill whole lines of 128 bytes. Accesses of 16 bytes
  /// (vectorize, pipeline with weft::transfer::async) and ldmatrix of the units of mma know of it; wmma does not.
  ///
  /// Needs   no output, and not inlined; two dimensions or more; rows a multiple of 16 bytes apart. Where no block shares the
  ///         memory, on a CPU or of a thread alone, nothing changes
  /// Keeps   all elements, and the memory that they take
  /// Errors  schedule_error "swizzle: rows that are swizzled are multiples of 16 bytes apart ..", "tensorize: .. whose rows are
  ///         swizzled, and .." at the first call
  /// Cost    two integer operations for an access
  /// Source  CUTLASS, `Swizzle<3, 3, 3>`; TVM, `permuted_layout`
  template <class Stage>
  constexpr void swizzle(Stage const& stage) {
    step request{verb::swizzle};
    request.stage = stage.stage;
    static_cast<Schedule&>(*this).take(request);
  }
};

}  // namespace weft::inline WEFT_ABI
