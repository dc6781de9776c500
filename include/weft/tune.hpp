// The tuner: which schedules are the fastest here, found by measuring, and remembered on disk.
#pragma once

#include "weft/kernel.hpp"
#include "weft/tune/tuner.hpp"

namespace weft::inline WEFT_ABI {

/// Finds the best values for the knobs of a kernel's schedule, for these arguments on this machine, and keeps them: later calls
/// use them, in this process and in others. Outputs may be left out. Of a kernel without a how-lambda the knobs are what the rule
/// chooses: tiles and their order, what is packed, inlined, or computed in whose loops; the rule's own schedule is the first candidate.
///
///     auto const r = weft::tune(matmul, {.trials = 100, .seconds = 20}, a, b);
///     std::puts(r.text().c_str());
///
/// Candidates run on copies of the arguments, in a process of their own (tune/worker.hpp): what crashes, hangs, or computes
/// something else is recorded and never chosen. A how-lambda without knobs has one point, and stays as it is.
///
/// Keeps   the arguments' elements; a result that is kept changes knob values and never steps
/// Errors  argument_error, schedule_error, as at a call; argument_error for what cannot be tuned yet: open sizes,
///         weft::constant, functions of the program; device_error when no candidate can be measured
/// Threads one tuning at a time; other threads of the program disturb the measurements
/// Cost    what the options allow; memory for a copy of the arguments, and some 20 bytes for each element of an output
/// See     docs/tuning.md, examples/10_tune.cpp
template <class Kernel, class... A>
tune_result tune(Kernel const& kernel, tune_options const& options, A const&... a) {
  return kernel.erased(
      [&](kernel_face const& f, argument* arguments, int count) { return tuning::tune(f, arguments, count, options); }, a...);
}

/// How many schedules `tune` would choose from with these arguments, and how many of them are legal on this machine; exact up to 10^6 points,
/// else estimated, which `exact` says:
///
///     std::puts(weft::tuning::text(weft::search_space(matmul, a, b)).c_str());  // 41,472 points, 3,120 legal
///
/// A tuning itself counts for as long as a tenth of what its trials take, and estimates beyond.
///
/// Errors  argument_error, schedule_error, as at a call; argument_error for open sizes
/// Cost    4 us a point of a how-lambda, 20 to 250 us a point of a rule, so seconds to minutes for 10^6
template <class Kernel, class... A>
tuning::space_size search_space(Kernel const& kernel, A const&... a) {
  return kernel.erased([](kernel_face const& f, argument* arguments, int count) { return tuning::size_of_space(f, arguments, count); }, a...);
}

/// A kernel and its arguments, for tune_all: nothing is copied. `weight`: how often it is called, against the others.
template <class Kernel, class... A>
auto tune_task(double weight, Kernel const& kernel, A const&... a) {
  return [weight, &kernel, &a...](auto const& use) {
    return kernel.erased(
        [&](kernel_face const& f, argument* arguments, int count) { return use(tuning::task_face{&f, arguments, count, weight}); }, a...);
  };
}
namespace tuning::detail {
template <class First, class... Rest>
sequence<tune_result> tune_with(sequence<task_face>& before, tune_options const& o, First const& first, Rest const&... rest) {
  return first([&](task_face const& t) {
    before.push_back(t);
    if constexpr (sizeof...(Rest) == 0) return tuning::tune_all(before, o);
    else return tune_with(before, o, rest...);
  });
}
}  // namespace tuning::detail

/// Tunes several kernels under one budget of trials and seconds, which goes where a trial is expected to gain most, times the weight:
///
///     weft::tune_all({.trials = 300, .seconds = 60}, weft::tune_task(12, conv, x, w), weft::tune_task(1, matmul, a, b));
///
/// Each has one batch first, behind its schedule without tuning and what is kept of it, that takes no more than its part of the trials and seconds that are left, whatever the order. Who stops it, stops it for all. Of a kernel that was not begun by then, or when
/// the trials or seconds that all share were used up, nothing is measured: it keeps its schedule, and `why` says so; the first one is begun in any case. With `within = 0.02`, none is
/// tuned on that is within 2 % of its roofline. The results come in the order of the tasks; all else is as with `tune`.
///
/// Errors  as `tune`: of what cannot be tuned (argument_error) before anything is measured; of what only measuring shows (schedule_error, device_error)
///         when it is that kernel's turn, and then nothing is kept of the others but their trials
/// Cost    as the options allow; copies of all arguments, and a worker for each task
/// Source  the gradient of Ansor's task scheduler: Zheng et al., OSDI 2020, section 6, with the roofline in place of similar tasks
template <class... Task>
sequence<tune_result> tune_all(tune_options const& options, Task const&... tasks) {
  static_assert(sizeof...(Task) > 0, "weft: tune_all takes a weft::tune_task for each kernel");
  sequence<tuning::task_face> all;
  return tuning::detail::tune_with(all, options, tasks...);
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
/// Cost    30 to 80 us; by rule 100 to 250
template <class Kernel, class... A>
std::string schedule_reason(Kernel const& kernel, A const&... a) {
  return kernel.erased(
      [](kernel_face const& f, argument* arguments, int count) { return weft::schedule_reason(f, arguments, count); }, a...);
}

}  // namespace weft::inline WEFT_ABI
