// A schedule for a computation that has none: chosen from its accesses and a model of the machine, made of ordinary steps.
#pragma once

#include "weft/schedule/rules/input.hpp"

namespace weft::inline WEFT_ABI {

/// Takes steps on `s`, the plain nest of a program for a CPU.
///
///     elementwise     vectors along what is contiguous in most accesses; stages that one other reads are inlined
///     contraction     a tile in registers, blocks of the reduced axis, panels of what is read again and again
///     reduction       of contiguous terms: a vector of parts (rfactor), and parts for threads where nothing else is parallel
///     rows            what a row of the output needs is computed inside the loop over rows, or over some rows that share a product
///     windows         what is read in a window is computed in tiles of its reader, or row by row with the last rows kept
///     transposition   squares that are turned over in registers
///     scan            along rows the same squares, step by step; from row to row each row whole
///     groups          vectors that lie in one group of channels, or have several whole ones
///     instructions    that join several products (rule_input::dots), where an operand can be packed for them
///
/// Where `searched`, each number is a knob, the rule's own its first value, so that a search goes on from here: tiles and their order, blocks
/// of tiles, what is packed and in which loop, what is inlined or computed in whose loops. Choices that are not all first ones are
/// taken as they are: the schedule may then be illegal, or fit no registers. Answers which plan it was, for rule_input::plan: the last one, loops_alone,
/// leaves each stage where it is.
///
/// Where an output is written over an input (rule_input::in_place), a plan before the last one may have an element read after its place was written. Lowering
/// refuses such a schedule; who asks for one tries it, and goes on with loops_alone.
///
/// Loops run in parallel where the work is worth a fork. What cannot be told (subscripts that are read) is left as it is. Where
/// sizes stay open, the plan is that for likely ones (rule_input::likely), without the steps that other sizes refuse.
///
/// Keeps   the results, bit by bit, but for sums and products of floats (and minima that meet a NaN) whose terms a rule
///         takes in another order, and sums of bf16 by an instruction; not so without `reassociate`
/// Errors  none: where a step is not legal, or a tile does not fit, a simpler schedule is taken, the plain nest at last
/// Cost    0.1 ms
/// Source  Low et al., "Analytical modeling is enough for high-performance BLIS", TOMS 2016, for the tiles
std::uint8_t schedule_by_rule(schedule& s, rule_input const& in);
namespace detail {
inline constexpr std::uint8_t loops_alone = 2;  // the last plan
/// Whether a rule is asked for its own schedule, and not for what a search has chosen.
inline bool is_the_rules_own(schedule const& s) {
  bool own = s.chooser == nullptr;
  for (std::int32_t c : s.choices) own = own && c == 0;
  return own;
}
}

}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/schedule/rules/rules.ipp"
#endif
