// Results of a reduction that hang on fewer axes than their stage: the state of one that keeps values of several shapes.
//
//     running maximum m, sum l and values o of softmax(s) v, over k, for all i and d:  m and l are the same for all d
//
//     for i: for k:                               for i: for k:
//       for d: o[i, d] = ..m[i, d]..    ->          for d: o[i, d] = ..m[i]..
//              m[i, d] = ..                         m[i] = ..
#pragma once

#include <cstdint>

#include "weft/schedule/nest.hpp"

namespace weft::inline WEFT_ABI {

/// What follows from that for loops and memory.
struct narrow_results {
  /// By tensor, as bits: the dimensions that its memory does not have, since all elements along them are equal.
  sequence<std::uint32_t> lacks;
  /// By stage: the loop in front of which its identity is stored, as of the nest, or, where some results are updated outside
  /// of loops of others, in front of all its terms; -1: by its first terms.
  sequence<std::int32_t> starts;
};

/// A result of a reduction of several lacks an axis when its body does not depend on it, nor on a result that does not lack it;
/// when another result of the stage has it; when the loops of the axis stand outside of all reduced ones, where they are
/// serial and the result is made again for each of their iterations, or inside of them all, without a stage that is computed
/// there, where it is made once; and when the result is no output.
///
/// Cost  O(nodes) for each stage of several results that reduces
narrow_results narrow_results_of(nest const& n);

/// Whether all axes that a loop is of are among the spatial axes `lacks` of its stage.
bool is_left_out(nest const& n, int loop, std::uint32_t lacks);

}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/schedule/narrow.ipp"
#endif
