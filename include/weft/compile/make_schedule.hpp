// The schedule of a request: what a tuner has kept for it, what a rule says, what its how-lambda says (the bodies: make_schedule.ipp).
#pragma once

#include "weft/compile/request.hpp"

namespace weft::inline WEFT_ABI {

/// The schedule with real extents: the how-lambda run with the knob values that a tuner has kept for it (cache/tuned.hpp);
/// without such, with those that it has kept for the nearest shapes, or on another machine with the same instructions
/// (cache/relatives.hpp); else with each knob's first value. Where that is illegal for
/// these extents or does not fit the registers of this target, with the first values that do, the last knob fastest; 4096
/// combinations are tried at most. When none fits this target, but some would fit a machine with more registers, the one
/// of those that needs the fewest: a program that ran on its author's machine runs on a smaller one, slower, and `loops`
/// says why. In `reason`, where it is given, comes which of these it is, in a sentence.
/// Errors  schedule_error: step, axis, nest, a way out
/// Cost    20 us for a matmul; with knobs, the look at the disk besides (cache::find_tuned, cache::find_relative)
schedule make_schedule(compile_request const& r, std::string* reason = nullptr);

namespace detail {
/// What a rule is told for a request, with the plan that it takes; in `first` comes the schedule, whose knobs are what it chose.
rule_input rule_input_for(compile_request const& r, program const& expanded, schedule& first);
/// What the how-lambda, or the rule, does with these choices of knob values, for `expanded`, the program of the request.
schedule schedule_with(compile_request const& r, program const& expanded, sequence<std::int32_t> const& choices);
/// The same with choices by the knobs' names.
using knob_chooser = decltype(schedule::chooser);
schedule schedule_with(compile_request const& r, program const& expanded, knob_chooser chooser, void const* wanted);
/// The place of the value that comes nearest.
std::int32_t nearest_value(sequence<std::int64_t> const& values, std::int64_t wanted);
/// What a tuner keeps results of this request under (cache::task_key, cache::family_key). `first`: the how-lambda's schedule with each knob's first
/// value; by rule it is not looked at.
std::string task_of(compile_request const& r, schedule const& first, std::string_view beginning = {});
std::string family_of(compile_request const& r, schedule const& first, std::string_view beginning = {});
/// How many threads calls have, where they are not the machine's; 0: they are, or it is a GPU's request.
int asked_threads(compile_request const& r);
/// Whether a tuner has kept a result for just these arguments on this machine.
bool is_tuned_exactly(compile_request const& r);
/// The extents of all tensors, one behind the other, for which it has kept one for calls that differ in nothing else: of the 64 kept last, and of as
/// many bitwise ones.
sequence<sequence<std::int64_t>> tuned_shapes(compile_request const& r);
/// Why a schedule can become no code for a CPU; empty: it can, perhaps with spilled registers.
std::string why_not(compile_request const& r, schedule const& s);
/// With the request's own program in it, which outlives the expanded one; as make_loops wants it.
schedule finished(compile_request const& r, schedule& s);
}  // namespace detail

}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/compile/make_schedule.ipp"
#endif
