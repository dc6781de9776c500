// The whole path, from a program and a schedule to a function pointer, on one page (the bodies: compile.ipp).
//
//     program -> expand -> schedule -> cache::find -+-> (on disk) ------------------------------------> link -> entry
//                make_schedule                      +-> lower -> run_passes -> codegen/llvm -> cache::keep --^
//                                                           make_loops
#pragma once

#include <string>

#include "weft/compile/instruments.hpp"
#include "weft/compile/make_loops.hpp"
#include "weft/compile/make_schedule.hpp"
#include "weft/compile/request.hpp"
#include "weft/runtime/loader.hpp"

namespace weft::inline WEFT_ABI {

/// Of compiled_kernel::workspace_bytes: the code tells it, for the sizes of a call (launch::wanted).
inline constexpr std::int64_t told_by_call = -1;

/// Code that can be called, and what a caller must bring.
struct compiled_kernel {
  runtime::linked_object code;
  kernel_entry entry = nullptr;
  std::int64_t workspace_bytes = 0;
  bool checked = false;  // brings zeroed workspace, and a `failure`
  std::uint64_t keeps = 0;  // of which arguments, as bits, it keeps what it makes of them (prepack)
  trace steps;
  debugger_note note;
};

/// The bytes of workspace, or of what is kept, for these run-time sizes, of a kernel whose code tells it.
///
/// Errors  argument_error past 2^48
std::int64_t wanted_memory(compiled_kernel const& k, std::string const& name, std::int64_t const* sizes, bool kept);

/// The texts that show what a kernel became.
struct kernel_texts {
  std::string loops;     // the nest, for people
  std::string steps;     // the trace
  trace taken;           // the same as data
  std::string ir;        // the loop program as the code generator gets it
  std::string llvm_ir;   // after LLVM's passes
  std::string assembly;
};

/// All of it, with the options of the request and of the environment. Reads WEFT_DUMP (a list of: schedule, lower, pass,
/// pass/NAME, llvm, asm, cuda), WEFT_TIME and WEFT_VERIFY;
/// what they ask for goes to stderr, and once in a process the items of WEFT_DUMP that name nothing. Where a text of the
/// way is asked for, the kernel is made anew even if it is on disk.
/// Errors  as of make_schedule and make_loops; device_error without LLVM, or for a target that cannot run here; internal_error with the loop program when weft itself failed
/// Cost    3 to 12 ms; from disk 0.1
compiled_kernel compile(compile_request const& r);

/// The parts of `compile`, for who does the last one later, or on another thread: the schedule and the key, for which the lambdas
/// run; what is on disk; the code. The request, and what it points to, must be there for all of them.
struct compile_plan {
  options wanted;
  schedule how;
  std::string key;
  double schedule_ms = 0;
};
/// The first part. Errors: schedule_error; device_error for a target that cannot run here
compile_plan plan_of(compile_request const& r);
/// The second: what is on disk. False: it is not there.
bool load_planned(compile_request const& r, compile_plan const& plan, compiled_kernel& k);
/// The third. Errors: argument_error for an access out of bounds; device_error; internal_error. `quick`: in a third of the time, and not kept on disk; the code takes two to five times as long.
void make_planned(compile_request const& r, compile_plan const& plan, compiled_kernel& k, bool quick = false);

/// How often `compile` made code in this process, or tried to, because it was not on disk; for tests and for whoever
/// wonders why a call was slow.
std::uint64_t compilations();

/// The texts alone; nothing is linked or kept. `machine_code`: the last two as well, which needs LLVM.
kernel_texts inspect(compile_request const& r, bool machine_code);

}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/compile.ipp"
#endif
