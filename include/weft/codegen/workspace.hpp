// Where the intermediate tensors of a kernel stand in its workspace.
#pragma once

#include "weft/base/sequence.hpp"
#include "weft/ir/ir.hpp"

namespace weft::inline WEFT_ABI {

/// The byte offset of heap buffer `b` (null: the end, which is the size of the workspace). Buffers follow each
/// other at multiples of 64 bytes.
ir::expr workspace_offset(ir::arena& m, ir::function const& f, ir::buffer const* b);

/// The bytes of workspace that a call with these run-time sizes needs. Errors: argument_error past 2^48.
std::int64_t workspace_bytes(ir::function const& f, sequence<std::int64_t> const& sizes);

}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/codegen/workspace.ipp"
#endif
