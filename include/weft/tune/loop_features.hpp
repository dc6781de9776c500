// What a cost model is told of a loop program: how much it computes, reads and writes, and from which cache.
#pragma once

#include "weft/base/sequence.hpp"
#include "weft/codegen/target.hpp"
#include "weft/ir/ir.hpp"

namespace weft::inline WEFT_ABI {
namespace tuning {

/// What was found of a loop program. The totals and the estimate are kept for other tasks: who changes what they mean raises
/// features_version (other_tasks.hpp).
struct loop_costs {
  /// Of the whole program, and of each of the four statements that cost most, those first; as logarithms, as many for all programs:
  ///
  ///   arithmetic   operations; vectors of them; sums that do not wait for one another
  ///   accesses     of vectors, of single elements that are repeated, of elements that stand apart (gathers), of sums in memory
  ///   traffic      bytes that come into the first and into the second cache: what the loops inside of the outermost level that
  ///                still fits touch, as often as the loops outside run
  ///   loops        iterations of those that stay loops; the innermost one's; copies that are written out; threads
  sequence<float> features;
  /// About how long it takes, in no unit: vectors of arithmetic and of accesses, iterations and traffic, each with a weight, by
  /// threads. Nothing was fitted: a bandwidth of 32 bytes into the first cache and of 16 into the second for each vector, four for
  /// an element of a gather, two for a sum in memory and for an iteration.
  double estimate = 0;
};

/// `f` is as `lower` leaves it: unrolled and vectorized loops are loops still. Extents and strides that are no numbers count as 1.
///
/// Cost    3 to 43 us, and 0.1 to 0.3 ms for lowering
/// Source  Chen et al., Learning to optimize tensor programs, NeurIPS 2018, section 4 and table 3 (accesses, reuse and footprints by loop
///         level, annotations)
loop_costs costs_of_loops(ir::function const& f, target const& machine);

}  // namespace tuning
}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/tune/loop_features.ipp"
#endif
