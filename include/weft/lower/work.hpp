// How much a loop program writes.
#pragma once

#include "weft/ir/ir.hpp"

namespace weft::inline WEFT_ABI {

/// How often an element is written where the open sizes of `f` are `sizes`, by number: about so often, as each loop counts as long as it is in the
/// middle of those around it, and of a branch the longer way. 0: there is a loop of which that is not known.
/// Cost one walk over the statements
double elements_written(ir::function const& f, sequence<std::int64_t> const& sizes);

}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/lower/work.ipp"
#endif
