// What the sizes of a call decide of a program.
#pragma once

#include "weft/expr/program.hpp"
#include "weft/lower/layout.hpp"

namespace weft::inline WEFT_ABI {

/// The same program for arguments of this layout alone: of a choice by sizes what is chosen, so that tensors that are broadcast are read
/// at an axis or at 0. Nodes keep their numbers. Of open extents it is known what they cannot be (open_range), and which are the same.
program settled(program const& what, call_layout const& layout);

}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/lower/settled.ipp"
#endif
