// Whether two loop programs say the same, whichever arenas own them.
#pragma once

#include "weft/ir/ir.hpp"

namespace weft::inline WEFT_ABI {
namespace ir {

/// Node by node: kinds, types, lanes, literals to the bit, names, buffers with all their properties. Not the ids
/// of expressions. Cost O(nodes), shared ones once.
bool equal(function const& f, function const& g);

}  // namespace ir
}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/ir/equal.ipp"
#endif
