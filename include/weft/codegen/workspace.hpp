// Where the intermediate tensors of a kernel stand in its workspace.
#pragma once

#include "weft/base/sequence.hpp"
#include "weft/ir/ir.hpp"

namespace weft::inline WEFT_ABI {

/// How many lines of 64 bytes one place of a heap buffer takes.
ir::expr workspace_lines(ir::arena& m, ir::buffer const* b);

/// The byte offset of heap buffer `b` (null: the end, which is the size of the workspace). Buffers follow each
/// other at multiples of 64 bytes, and so do the places of one that has several. The same of those that are kept, in the memory that is kept.
ir::expr workspace_offset(ir::arena& m, ir::function const& f, ir::buffer const* b, ir::scope of = ir::scope::heap);

inline constexpr std::int64_t most_workspace = std::int64_t(1) << 48;

/// The bytes of workspace that a call of a kernel without run-time sizes needs. Errors: argument_error past 2^48.
std::int64_t workspace_bytes(ir::function const& f);

/// The same for one with run-time sizes, which tells it itself (launch::wanted): not less than it needs, as f64, so that it
/// cannot wrap. Null: it needs none. And of the memory that is kept.
ir::expr workspace_wanted(ir::arena& m, ir::function const& f, ir::scope of = ir::scope::heap);

}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/codegen/workspace.ipp"
#endif
