// Arithmetic that ends in few bits, done in few bits.
#pragma once

#include "weft/expr/program.hpp"

namespace weft::inline WEFT_ABI {

/// The same program, in which what is cast to a narrow integer, or compared, is computed in 8 or 16 bits where all values on the way fit.
///
///     u8(i32(a[i]) * i32(b[i]) / 255)      ->      u8(u16(a[i]) * u16(b[i]) / 255)
///
/// The face computes as C++ does, bytes in 32 bits, of which a vector holds a quarter as many. Sums, products and bits of words need no more of their operands than
/// themselves; a quotient, a shift to the right, a maximum and a comparison need all of them, so those have to lie in the narrow type, as far as the types of
/// elements and the numbers in the program say. What is wanted in 32 bits as well, elsewhere, stays as it is.
///
/// Needs   a program that was expanded (expand.hpp)
/// Keeps   all elements of all stages, bit for bit; stages, axes, accesses
/// Cost    O(nodes); on the CPU alone: a GPU has no vectors of narrow integers
/// Source  what compilers do to loops that they make vectors of (GCC, vect_recog_over_widening_pattern), here on the whole of an expression
program in_few_bits(program const& p);

}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/expr/narrow.ipp"
#endif
