// A loop program to machine code in an object file.
#pragma once

#include <string>

#include "weft/codegen/llvm/api.hpp"
#include "weft/codegen/target.hpp"
#include "weft/ir/ir.hpp"

namespace weft::inline WEFT_ABI {
namespace codegen::llvm {

/// What compiling one kernel gives. `ir` and `assembly` are made only when asked for.
struct object_code {
  std::string bytes;     // ELF, relocatable, no undefined symbol
  std::string symbol;    // of kernel_entry
  std::string ir;        // LLVM's, after its passes
  std::string assembly;
  double emit_ms = 0, passes_ms = 0, machine_ms = 0;
};
struct module_state;
struct object_request {
  bool want_ir = false, want_assembly = false;
  bool verify = false;  // by LLVM's own verifier, before its passes
  bool quick = false;   // compiled in a third of the time, to code that takes two to five times as long
  std::string name{};   // of the code: the symbol is weft_NAME; empty: that of the loop program
  /// Emits instead of function_emitter: with checks, with lines for debuggers.
  void (*emit)(module_state& s, std::string const& symbol, void const* context) = nullptr;
  void const* context = nullptr;
};

/// Compiles `f` (after run_passes) for `machine`.
///
/// Errors   device_error when no LLVM can be loaded; internal_error, with LLVM's words, when it refuses the code
/// Threads  any; each call has its own LLVM context
/// Cost     1.5 to 10 ms, by the size of the unrolled code
object_code compile(ir::function const& f, target const& machine, object_request const& want = {});

}  // namespace codegen::llvm
}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/codegen/llvm/module.ipp"
#endif
