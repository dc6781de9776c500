// What sizes that stay open must meet so that every access stays inside its buffer.
#pragma once

#include "weft/base/sequence.hpp"
#include "weft/ir/ir.hpp"

namespace weft::inline WEFT_ABI {

/// Inequalities over the run-time sizes of a plain nest, as expressions that must not be negative.
struct open_conditions {
  sequence<ir::expr> lengths;   // a loop runs at least once; the accesses count on it. Those of a reduction run at most 2^48
                                // times together: fused, they are one
  sequence<ir::expr> accesses;  // where they hold, all accesses stay inside; they may be stricter than need be
  bool complete = true;         // false: for some access there is none, and its proof needs the numbers
};

/// Of `f`: what holds for all sizes from 1 on is left out, so that where tensors share the names of their extents
/// nothing is left. The others are intervals: x(i / 2 + k) with i in 0..n, k in 0..3 needs x.extent(0) - 1 - ((n - 1) / 2 + 2).
/// Cost as check_bounds
open_conditions conditions_of(ir::function const& f);

}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/lower/open_bounds.ipp"
#endif
