// A schedule as the text of a how-lambda.
#pragma once

#include <string>

#include "weft/schedule/print.hpp"

namespace weft::inline WEFT_ABI {

/// The steps of a schedule as a how-lambda that takes the same ones, to be pasted into a program:
///
///     [](auto& s, auto, auto B, auto C) {
///       auto [i, j, k] = C.axes();
///       auto copy = s.cache_read(B, C);
///       auto [jo, ji] = s.split(j, 64, weft::tail::mask);
///       s.vectorize(ji);
///     }
///
/// It takes the inputs, then the stages, in the order of the what-lambda; what no step needs has no name. Loops are called as
/// in the trace, with their stage's name in front where another stage has such a loop. A knob stands as the number that was
/// chosen for it; an illegal step and what follows it are left out.
///
/// Keeps   a kernel with this lambda has the trace of `s`
/// Errors  none
/// Cost    the steps are taken once more
/// See     weft/print_how.hpp for that of a kernel, print_trace
std::string print_how(schedule const& s);

}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/schedule/print_how.ipp"
#endif
