// How deep expressions may be nested.
#pragma once

#include "weft/expr/program.hpp"

namespace weft::inline WEFT_ABI {

/// Refuses an expression of more than `most` operations one upon the other: all later parts recurse over it, and so
/// does LLVM. A frame takes up to 700 bytes (g++ 12, -O0, 2026-11-21: 12,000 levels fit the usual 8 MB of stack).
///
/// Errors  argument_error
/// Cost    O(nodes), without recursion; asked at run time only, a compiler has limits of its own
void check_depth(program const& p, int most);

}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/expr/depth.ipp"
#endif
