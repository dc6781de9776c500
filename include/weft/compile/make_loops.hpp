// The loop program of a request and its schedule (the bodies: make_loops.ipp).
#pragma once

#include "weft/compile/request.hpp"
#include "weft/ir/ir.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {
/// The request's program as it is scheduled and lowered: for sizes of its layout, in elementary operations.
program expanded_program(compile_request const& r);
/// The loop program before passes, unchecked: for what looks at candidates by the hundred and runs none of them.
ir::function lowered(ir::arena& m, compile_request const& r, schedule const& s);
}  // namespace detail
/// The loop program after all passes. Errors: argument_error for an access out of bounds. Checked, that is left to the
/// code, and unrolled and vectorized loops are serial ones, so that their variables can be told.
ir::function make_loops(ir::arena& m, compile_request const& r, schedule const& s);

}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/compile/make_loops.ipp"
#endif
