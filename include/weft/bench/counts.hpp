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
