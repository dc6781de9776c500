// How a tuning goes on, as a line for people.
#pragma once

#include <string>

#include "weft/tune/tuner.hpp"

namespace weft::inline WEFT_ABI {

/// Whose trial it was, how many there were and how many in a second, the best so far, and how long it may still take:
///
///     matmul: 12 of 24 trials, 11.3 a second; best 122 us, 2.05 times as fast as without tuning; at most 1.1 s left
///
/// Nothing is printed:
///
///     auto show = [](weft::tune_progress const& p) { return std::fprintf(stderr, "\r%s ", weft::progress_line(p).c_str()) > 0; };
///
/// What is left is the rest of the seconds, or of the trials at the speed so far, whichever is less; the finalists' turns, which seconds allow for, may take longer than trials have. It is not told where neither says anything, of endless seconds
/// before the first trial is over, and behind the last trial: then the line says how many rounds of turns there were.
/// See     examples/10_tune.cpp
std::string progress_line(tune_progress const& p);

}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/tune/progress.ipp"
#endif
