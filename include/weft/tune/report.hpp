// A tuning as one page of HTML with its drawings in it.
#pragma once

#include <string>

#include "weft/tune/tuner.hpp"

namespace weft::inline WEFT_ABI {

/// The page of a tuning: the best time so far by trial, measured times over those that the model expected, the trials under the roofline of this
/// machine, all of them as a table, and the winning schedule as loops and as a how-lambda. It needs no other file, no script and no network.
///
///     std::ofstream("matmul.html") << weft::report(r);
///
/// Cost    100 bytes a trial; where the machine's peaks are not kept yet, a second or two (bench::peaks_of)
/// Source  of the roofline: Williams, Waterman, Patterson, CACM 52, 2009
std::string report(tune_result const& r);

}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/tune/report.ipp"
#endif
