// Program and schedule become a loop program: the first place that needs run-time extents.
#pragma once

#include "weft/base/sequence.hpp"
#include "weft/ir/ir.hpp"
#include "weft/schedule/schedule.hpp"

namespace weft::inline WEFT_ABI {

/// What the kernel may assume of one tensor argument.
struct argument_layout {
  sequence<std::int64_t> extents, strides;  // strides in elements
  std::int32_t alignment = 1;                  // bytes
  std::int32_t alias_class = 0;                // equal for arguments that may share memory
};

/// The tensors of a call: inputs in the order of the what-lambda's parameters, then outputs.
struct call_layout {
  sequence<argument_layout> arguments;
  /// Extents and strides are read at run time (from launch::sizes) instead of being numbers in the code.
  bool symbolic = false;
};

/// What becomes of a vectorized axis that does not divide. partition: full tiles without masks, and a second copy of
/// the tile for the last one. mask: one copy, masked throughout, where the target masks for nothing (AVX-512).
/// Measured on matmul 1023^3 with 6 x 64 tiles: equal speed, half the code, and compiled in 9 ms instead of 15.
enum class vector_tails : std::uint8_t { partition, mask };

/// The loop program of `p` (expanded, see expr/expand.hpp) under the nest `n`.
///
///     for io in 0..ceil(M/6):                                one nest per stage, in order of definition
///       if io*6 + 6 <= M:                                    an unrolled or vectorized axis that does not
///         for k in 0..K: for ii in 0..6 unrolled: ...        divide is cut into full tiles and a last one;
///       else: ... where io*6 + ii < M                        a serial inner loop just ends early
///
/// Unrolled and vectorized loops are still loops, reductions are accumulate statements. Stages that no output
/// needs are left out. Cost O(nodes * variants), variants at most 2 per axis with such a tail.
ir::function lower(ir::arena& m, program const& p, nest const& n, call_layout const& layout, std::string_view name,
                   vector_tails tails = vector_tails::partition);

}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/lower/lower.ipp"
#endif
