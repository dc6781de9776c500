// Whether every access of a loop program stays inside its buffer.
#pragma once

#include <string>

#include "weft/ir/ir.hpp"

namespace weft::inline WEFT_ABI {

/// Empty when every load of `f` is proved to stay inside its buffer for the extents at hand; else a sentence
/// about the first one that is not: "A: index 0 runs from -1 to 9, but A has 10 elements there".
///
/// Ranges of linear forms are exact; a select's condition counts for the loads in its branches. What is only true
/// for other reasons is not seen, and refused: clamp says it. Works on the plain nest, before any schedule.
/// Cost O(loads * rank).
std::string check_bounds(ir::function const& f);

}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/lower/bounds.ipp"
#endif
