// The tuner: which values of a how-lambda's knobs are the fastest here, found by measuring, and remembered on disk.
#pragma once

#include "weft/kernel.hpp"
#include "weft/tune/tuner.hpp"

namespace weft::inline WEFT_ABI {

/// Finds the best values for the knobs of a kernel's schedule, for these arguments on this machine, and keeps them: later calls
/// use them, in this process and in others. Outputs may be left out.
///
///     auto const r = weft::tune(matmul, {.trials = 100, .seconds = 20}, a, b);
///     std::puts(r.text().c_str());
///
/// Candidates run on copies of the arguments, in a process of their own (tune/worker.hpp): what crashes, hangs, or computes
/// something else is recorded and never chosen. A kernel without knobs has one point, and stays as it is.
///
/// Keeps   the arguments' elements; a result that is kept changes knob values and never steps
/// Errors  argument_error, schedule_error, as at a call; argument_error for what cannot be tuned yet: open sizes,
///         weft::constant, functions of the program; device_error when no candidate can be measured
/// Threads one tuning at a time; other threads of the program disturb the measurements
/// Cost    what the options allow; memory for a copy of the arguments
/// See     docs/tuning.md, examples/10_tune.cpp
template <class Kernel, class... A>
tune_result tune(Kernel const& kernel, tune_options const& options, A const&... a) {
  return kernel.erased(
      [&](kernel_face const& f, argument* arguments, int count) { return tuning::tune(f, arguments, count, options); }, a...);
}

/// Where the schedule of a call with these arguments would come from, if it were the first one now, in a sentence:
///
///     std::puts(weft::schedule_reason(matmul, a, b).c_str());
///     // tuned for 512 x 512 and 512 x 512 and 512 x 512, the nearest that was tuned; not for 500 x 500 and ..
///
/// What was tuned for these arguments on this machine comes first, then the nearest sizes, of which none is more than twice or half
/// as much, then what was found on another machine with the same instructions, and at last what stands first, or the rule's schedule.
/// Nothing is timed, then or in a call.
///
/// Errors  argument_error, schedule_error, as at a call
/// Cost    30 to 60 us
template <class Kernel, class... A>
std::string schedule_reason(Kernel const& kernel, A const&... a) {
  return kernel.erased(
      [](kernel_face const& f, argument* arguments, int count) { return weft::schedule_reason(f, arguments, count); }, a...);
}

}  // namespace weft::inline WEFT_ABI
