// Program and schedule become a loop program: the first place that needs run-time extents.
#pragma once

#include "weft/ir/ir.hpp"
#include "weft/lower/layout.hpp"
#include "weft/schedule/schedule.hpp"

namespace weft::inline WEFT_ABI {

/// The loop program of `p` (expanded, see expr/expand.hpp) under the nest `n`.
///
///     for io in 0..ceil(M/6):                                one nest per stage, in order of definition
///       if io*6 + 6 <= M:                                    an unrolled or vectorized axis that does not
///         for k in 0..K: for ii in 0..6 unrolled: ...        divide is cut into full tiles and a last one;
///       else: ... where io*6 + ii < M                        a serial inner loop just ends early
///
/// So is a condition on indices under which an element changes at all, as that of the last terms of a reduction in
/// parts: whole tiles are made without it. Unrolled and vectorized loops are still loops, reductions are accumulate
/// statements. Stages that no output needs are left out. Cost O(nodes * variants), variants at most 2 per axis with such
/// a tail and per such condition.
///
/// A result that is the same along an axis is stored once along it (schedule/narrow.hpp), so nothing is said any more of
/// the index there: what proves that all accesses are in bounds lowers with narrow_memory::no.
///
/// Memory in the workspace for a stage that is computed inside of a parallel loop is one for each of `threads` threads, which then run that loop at most; 0:
/// one for each iteration, as they are threads of a GPU, or nobody has to run them.
ir::function lower(ir::arena& m, program const& p, nest const& n, call_layout const& layout, std::string_view name,
                   vector_tails tails = vector_tails::partition, narrow_memory narrow = narrow_memory::yes, std::int32_t threads = 0);

/// What check_bounds says of the elements that stages compute beyond their ends, where splits round up; empty when all they
/// read stays in bounds, and where no split does.
std::string check_rounded(ir::arena& m, program const& p, nest const& n, call_layout const& layout);

}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/lower/lower.ipp"
#endif
