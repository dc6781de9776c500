// Schedules as text: the loop nests for humans, the trace to be read back, and the story of an illegal step.
#pragma once

#include <string>
#include <string_view>

#include "weft/schedule/schedule.hpp"

namespace weft::inline WEFT_ABI {

/// The loops of every stage, outermost first, and what stands inside:
///
///     C
///       parallel jo in 0..16
///         for k in 0..B.extent(0)
///           vectorized ji in 0..64
///             C[i, j] += A[i, k] * B[k, j]
///       where j = jo*64 + ji
///
/// An extent that is not a number yet is shown as the program has it. A reduction's update is +=, *=, min= or
/// max=, or an assignment in which the element stands for its value so far.
std::string print_loops(nest const& n);

/// The steps, one a line: `C: split(k, 256) -> ko, ki`, `C: reorder(ko, i, j, ki)`, `C: parallel(i)`,
/// `B: compute_at(C, ko)`.
///
/// Keeps   parse_trace(print_trace(s), fresh) == s.steps for every `fresh` schedule of the same program in
///         which the steps rule as they did in `s`
std::string print_trace(schedule const& s);

/// The steps of a text that print_trace could have made, for `fresh`, a schedule without any step.
///
/// Names of loops are those of the stage at that point: a split of `k` makes `ko` and `ki`. The parts may be
/// left out (`C: split(k, 256)`); comments run from `#` to the end of the line. The steps' rulings are those of
/// `fresh`; an illegal one can only be the last. The names of intrinsics are looked up in `known`.
/// Errors  parse_error "trace:line:column: message"
trace parse_trace(std::string_view text, schedule const& fresh, known_intrinsics known = {});

/// Takes the steps one after the other; true when none was illegal. The ids of loops in a trace are the same in
/// all schedules of one program, whatever the extents.
bool replay(schedule& s, trace const& steps);

/// 64 bits that are equal for equal steps.
std::uint64_t hash(trace const& steps);

/// The text of the schedule_error for the first illegal step, the nest being that before the step:
///
///     parallel: a reduction axis cannot run in parallel: ...
///       in    schedule of matmul, step 3: C: parallel(ki)
///       nest  i(32) > j(64) > ko(4) > ki(8)
///                                     ^^
///       try   one of i, j
///
/// Empty when no step was illegal.
std::string explain(schedule const& s, std::string_view kernel_name);

namespace detail {
/// A step as print_trace shows it, without the stage, if the loops exist.
std::string step_text(nest const& n, step const& s);
/// The line that shows the loops of a stage, and below it a mark under loop `marked` (-1: none).
std::string nest_text(nest const& n, int stage, int marked);
}  // namespace detail

}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/schedule/print.ipp"
#endif
