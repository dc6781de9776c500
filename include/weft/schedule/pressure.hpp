// The rules of the tile that is written out: accumulators that live across a reduction loop must fit the vector
// registers, and the code must not become too long to compile.
#pragma once

#include <string>

#include "weft/schedule/nest.hpp"

namespace weft::inline WEFT_ABI {

/// What a reduction's tile takes of the vector registers.
struct register_use {
  std::int64_t accumulators = 0;  // unrolled iterations times vectors per row
  std::int64_t row = 0;           // vectors of one row of an operand; 0 when nothing is vectorized
  std::int64_t lanes = 1;
  constexpr std::int64_t needed() const { return accumulators + row + 1; }
};

/// The registers of stage `stage` across its innermost serial reduced loop. needed() is 1 when the rule does not
/// apply: no such loop, an extent that is not known, a serial spatial loop inside (the tile is then in memory).
///
///     for k: unrolled ii in 0..6: vectorized ji in 0..64      f32, 16 lanes: 6 * 4 accumulators, a row of 4,
///       C[i, j] += A[i, k] * B[k, j]                          and one element of A: 29 registers
register_use registers_of(nest const& n, int stage);

/// Of the stage that needs the most.
std::int64_t registers_needed(nest const& n);
/// Empty when every stage's tile fits `n.limits`, or they are not known; else the text of a schedule_error.
/// A tile that does not fit is spilled at each iteration, which costs more than the tile gains.
std::string register_pressure(nest const& n);
/// Whether it would be empty on the machines with the most registers, 32 of 64 bytes. A tile that fits none of them is
/// a mistake on every machine, and refused on every machine.
bool fits_some_machine(nest const& n);

/// Empty when no stage's statement is written out more than 1024 times, unrolled iterations times vectors per row of
/// 16 bytes (the narrowest: the answer is the same on every machine); else the text of a schedule_error. LLVM's
/// scheduler takes more than linear time in such a block: y = 2 x + x' in f64 took 0.1 s of CPU time for 256 copies,
/// 0.5 s for 512, 0.5 to 1.5 s for 1024 (LLVM 19 and 22, a loaded Xeon, 2026-11-21); 8192 took 12 s.
std::string written_out_too_often(nest const& n);

}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/schedule/pressure.ipp"
#endif
