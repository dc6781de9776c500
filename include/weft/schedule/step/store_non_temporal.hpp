// Step: store_non_temporal.
#pragma once

#include "weft/schedule/placement.hpp"

namespace weft::inline WEFT_ABI {

struct store_non_temporal_rule {
  static constexpr ruling check(nest const& n, step const& s) {
    ruling const r = can_be_placed(n, s.stage);
    if (r.v == verdict::legal) return illegal(diagnosis::only_what_the_kernel_returns_is_stored_past_the_caches);
    if (r.why != diagnosis::an_output_is_computed_in_a_nest_of_its_own) return r;
    if (stage_info const& of = program::at(n.computation().stages, s.stage); of.reduced > 0 || of.scanned >= 0)
      return illegal(diagnosis::a_reduction_comes_back_to_its_elements__cache_write_it_first);
    return {};
  }
  static constexpr void perform(nest& n, step const& s) { n.wishes.push_back({s.stage, memory_wish::past_caches}); }
};

/// `s.store_non_temporal`, as a part of `schedule`.
template <class Schedule>
struct store_non_temporal_step {
  /// Stores an output past the caches: lines of it are written whole, without being read first, and what the caches hold stays
  /// there.
  ///
  ///     vectorized i in 0..n:                       C[i] = A[i] + B[i], by instructions such as vmovntps where the
  ///       C[i] = A[i] + B[i]              ->        address of a vector is a multiple of its size, in pieces of 16 bytes where
  ///                                                 it is one of these; others as before
  ///
  /// Needs   an output of the kernel, without a reduction or scan, whose elements are read again: of one that has it, cache_write, and
  ///         this step for what stays; a vectorized axis of which elements stand side by side, or nothing changes
  /// Keeps   all results. What was stored so is there for every thread when the loop, or the call, ends: a fence sees to it
  /// Cost    a test of the address for each vector. Pays where outputs are larger than the caches and nobody reads them soon;
  ///         else it costs: sums of 2^24 floats took 20.4 ms in place of 22.7, of 4096 floats 0.93 us in place of 0.48 (EPYC
  ///         virtual machine, AVX2, loaded, 2026-11-21). Rows that begin at multiples of 64 bytes are fastest: a copy of 16 MiB by one
  ///         thread 49 GB/s, of 16 bytes 48, of others 26; exp 46, 35, 29 (EPYC, Zen 4, in intrinsics, 2026-11-29)
  /// Source  Halide, `Func::stream_stores`; Intel SDM, volume 1, 10.4.6.2
  template <class Stage>
  constexpr void store_non_temporal(Stage const& stage) {
    step request{verb::store_non_temporal};
    request.stage = stage.stage;
    static_cast<Schedule&>(*this).take(request);
  }
};

}  // namespace weft::inline WEFT_ABI
