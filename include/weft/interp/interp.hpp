// The interpreter of loop programs: what a kernel means, and what it must not do.
#pragma once

#include <string>

#include "weft/base/sequence.hpp"
#include "weft/interp/options.hpp"
#include "weft/ir/ir.hpp"

namespace weft::inline WEFT_ABI {

/// Runs `f` on the caller's memory and looks at every access. Empty when all went well, else the first fault, with
/// the values of the loop variables; what was stored before it stays.
///
///   bounds    an index outside of its dimension, an element outside of the memory, an index that is inside only because
///             a sum or product of loop variables and sizes wrapped
///   reads     of an element of an output, a heap buffer, the stack or a register that nothing has written since its memory
///             was allocated; an accumulate reads its element except in the first iteration, if its value has `self`
///   races     two iterations of one parallel or vectorized loop (the innermost or any around it) on the same element, one
///             of them writing; two lanes of one store on the same element. A heap buffer that is allocated inside such a
///             loop is one piece of memory for all of its iterations; registers, the stack and buffers with places are each iteration's own
///   sharing   arguments of different alias classes over the same memory, one of them written
///   the call  a function that `verify` refuses (a store to an input, memory used outside of its allocate), too few
///             pointers, sizes or scalars, more than `max_operations`
///
/// Iterations of such loops run one after the other: forwards, backwards or in random order, which the seed decides at
/// each run of a loop. What races does not hang on it: accesses are compared, not results.
///
/// A select evaluates, lane by lane, only what it takes. A store evaluates its value in lanes that the mask leaves
/// out too, as vector code does: a load there may be of anything, but must be inside its buffer or masked itself.
/// Integers, floats and rounding are those of base/op.hpp; unrolled loops run as serial ones.
///
/// Needs   `pointers` by buffer::argument; `sizes` by function::sizes; scalars as bits (base/op.hpp)
/// Cost    0.17 s for a scalar 64 x 64 x 64 matmul (g++ 12 -O2), three times that at -O0; memory of 20 bytes per element
///         of buffers that a parallel or vectorized loop touches, 24 per iteration of such a loop
std::string interpret(ir::function const& f, sequence<interp_argument> const& pointers,
                      sequence<std::int64_t> const& sizes, sequence<std::int64_t> const& scalar_bits,
                      interp_options const& options = {});

}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/interp/in_step.ipp"
#include "weft/interp/interp.ipp"
#include "weft/interp/memory.ipp"
#endif
