// Code that looks at each of its accesses, and code that a debugger can show as lines of the loop program.
#pragma once

#include <string>

#include "weft/codegen/llvm/stmt.hpp"
#include "weft/ir/print.hpp"

namespace weft::inline WEFT_ABI {
namespace codegen::llvm {

/// Gives each tensor that the loops of `f` write, and that shares memory with no other, a second buffer in the workspace: a
/// byte for each element, 1 when the element has been written. The caller of the kernel zeroes the workspace.
void add_shadows(ir::function& f);

struct instrumentation {
  bool checked = false;
  /// With lines: where the text of the loop program stands, and which statement on which line.
  std::string directory{}, file{};
  sequence<ir::stmt_line> lines{};
};

/// Emits the kernel like function_emitter, and
///
///   checked   in front of each load and store: each index is inside of its dimension, and an element of a buffer with
///   a
///             shadow that is loaded has been written. At the first failure the code calls services::report, with a
///             text that stands in the object, and returns; chunks of parallel loops that begin later return at once.
///             No load is moved out of a loop. Needs code without vectors (make_loops makes it so)
///   lines     a DWARF line table, and the names of the functions
///
/// Errors  internal_error for checked accesses of several lanes
void emit_instrumented(module_state& s, std::string const& symbol, instrumentation const& how);

}  // namespace codegen::llvm
}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/codegen/llvm/instrument.ipp"
#endif
