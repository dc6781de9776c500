// How much a program does, by its own text: what a time is divided by.
#pragma once

#include "weft/expr/program.hpp"
#include "weft/runtime/argument.hpp"

namespace weft::inline WEFT_ABI {
namespace bench {

/// Of one call.
struct counts {
  double operations = 0;  // arithmetic on elements: a * b + c is two, exp is one; not subscripts, comparisons, casts
  double bytes = 0;       // each input once and each output once, whatever the schedule reads again or keeps between stages
  /// Of its widest tensor, where all are of f32 or f64: of these alone is the machine's peak of arithmetic known. 0: of others too
  int float_bytes = 0;
  /// Of a peak of f32, what these may reach; 0: not known.
  double peak_of(double f32_gflops) const { return float_bytes > 0 ? f32_gflops * 4 / float_bytes : 0; }
};

/// Counts a program, as the what-lambda wrote it, for these extents; `arguments`: inputs in order.
///
/// A stage is as many times its body as its axes have points, of a running sum too (`up_to`), of which half are not there.
/// Both branches of a select count, its condition does not. What a function computes (extern stages) is not seen.
counts counted(program const& p, argument const* arguments);

}  // namespace bench
}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/bench/counts.ipp"
#endif
