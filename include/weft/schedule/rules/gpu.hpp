// A schedule for a GPU where none is given.
#pragma once

#include "weft/schedule/rules/input.hpp"

namespace weft::inline WEFT_ABI {

/// Takes steps on `s`, the plain nest of a program, for one launch or several of a GPU.
///
///     elementwise     a thread for each 16 bytes of what is contiguous in most accesses; stages that one other reads are inlined
///     transposition   32 x 32 elements through shared memory, whose rows are padded
///     product         a block's tile of up to 128 x 128, of which a thread has up to 8 x 8 in groups of 4 x 4; what is read again
///                     comes through shared memory, 16 terms at a time. Also batched and transposed. Of f16, bf16 and
///                     bytes by one of the matrix units in rule_input::dots, copied three tiles ahead, with zeros behind the ends. What
///                     becomes of its sums is computed where they are, if tiles are whole, else by a launch of its own
///     convolution     and what else sums products over several axes: im2col makes a product of it, whose operands are gathered a tile at a
///                     time (decision 050)
///     rows            of sums, softmax, norms: a block for each row, or a warp for each short one; parts of a reduction are joined
///                     in a tree, and what a row needs stays on the chip
///     long reductions in pieces, joined by a second launch
///     columns         a thread for each, that walks down; pieces where there are few
///
/// Where `searched`, block sizes, rows of a block, lanes, parts of reductions and tiles are knobs, the rule's own number the first
/// value of each (decision 046). Choices that are not all first ones are taken as they are: the schedule may then be illegal, or too
/// large for a GPU. Answers which plan it was, for rule_input::plan. What is
/// not done, and why, is told where rule_input::told is.
///
/// Keeps   the results, bit by bit, but for sums and products of floats (and minima that meet a NaN) whose terms a rule takes in
///         another order; not so without `reassociate`
/// Errors  none: where a step is not legal a simpler schedule is taken, the plain nest at last
/// Cost    0.1 ms
/// Source  siboehm, "How to optimize a CUDA matmul kernel", 2022, for tiles of products
std::uint8_t schedule_by_gpu_rule(schedule& s, rule_input const& in);

}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/schedule/rules/gpu.ipp"
#endif
