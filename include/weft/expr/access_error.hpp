// How direct evaluation ends where an access leaves its tensor.
#pragma once

#include "weft/expr/program.hpp"

namespace weft::inline WEFT_ABI {

/// Element `index` of `tensor`, whose extents are `shape`, is read and is none.
///
/// Errors  argument_error "evaluate: A(3, 7) is outside of A, which is 3 x 4; clamp the index, .."
[[noreturn]] void raise_access(program const& p, int tensor, sequence<std::int64_t> const& index,
                               sequence<std::int64_t> const& shape);

}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/expr/access_error.ipp"
#endif
