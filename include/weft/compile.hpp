// The whole path, from a program and a schedule to a function pointer, on one page (the bodies: compile.ipp).
//
//     program -> expand -> schedule -> cache::find -+-> (on disk) ------------------------------------> link -> entry
//                                                   +-> lower -> run_passes -> codegen/llvm -> cache::keep --^
#pragma once

#include <string>

#include "weft/codegen/launch.hpp"
#include "weft/codegen/target.hpp"
#include "weft/lower/lower.hpp"
#include "weft/lower/settled.hpp"
#include "weft/options.hpp"
#include "weft/runtime/loader.hpp"
#include "weft/schedule/rules/input.hpp"
#include "weft/schedule/schedule.hpp"

namespace weft::inline WEFT_ABI {
namespace codegen::llvm {
struct module_state;
}

struct argument;
struct compile_request;
struct kernel_face;
/// What goes another way for a GPU (cuda.ipp), so that schedules are made, searched and remembered alike for both.
struct gpu_way {
  /// What a rule is told of the call.
  rule_input (*told)(compile_request const& r);
  /// The schedule by rule, or a thread for each element where `in` is null; which plan it was.
  std::uint8_t (*by_rule)(schedule& s, rule_input const* in);
  /// The loop program before and after passes; the latter is checked, and what a worker gets.
  ir::function (*lowered)(ir::arena& m, compile_request const& r, schedule const& s);
  ir::function (*loops)(ir::arena& m, compile_request const& r, schedule const& s);
  /// Whether it becomes launches that the machine of the request can do.
  bool (*fits)(compile_request const& r, schedule const& s);
  call_layout (*bind)(program const& what, std::string_view name, argument const* arguments, int count);
  /// A GPU as a target: its architecture as the CPU, its name as the one feature, its processors as threads, what a block may share
  /// as the first cache. Errors: device_error without a driver or such a device
  target (*machine)(int device);
  std::string (*schedule_reason)(kernel_face const& face, argument* arguments, int count);
};

/// What is to be compiled, and for what.
struct compile_request {
  std::string_view name;
  program const* what = nullptr;  // canonical
  /// Writes the schedule; null: the plain nest.
  void (*how)(void const* context, schedule& s) = nullptr;
  void const* context = nullptr;
  call_layout const* layout = nullptr;
  target const* machine = nullptr;
  options wanted{};
  bool by_rule = false;  // where there is no `how`: a schedule by rule (schedule/rules/rules.hpp)
  rule_input const* told = nullptr;  // what the rule is told; null: made of the others, at each schedule
  gpu_way const* gpu = nullptr;      // null: for a CPU
  sequence<std::string>* reasons = nullptr;  // where a rule says why it left something undone (rule_input::told)
  int device = 0;  // the number of the GPU
};

/// What a debugger was told of a kernel, taken back when this goes.
class debugger_note {
 public:
  debugger_note() = default;
  /// `note` is given to `take_back` at the end.
  debugger_note(void* note, void (*take_back)(void*)) : note_(note), take_back_(take_back) {}
  /// `o` has nothing left to take back.
  debugger_note(debugger_note&& o) noexcept : note_(o.note_), take_back_(o.take_back_) { o.note_ = nullptr; }
  /// Exchanges the two.
  debugger_note& operator=(debugger_note&& o) noexcept {
    void* const note = note_;
    note_ = o.note_, take_back_ = o.take_back_, o.note_ = note;
    return *this;
  }
  ~debugger_note() {
    if (note_ != nullptr) take_back_(note_);
  }

 private:
  void* note_ = nullptr;
  void (*take_back_)(void*) = nullptr;
};

/// What options need, which most programs do without.
struct instruments {
  ir::function (*lower)(ir::arena& m, compile_request const& r, program const& expanded, nest const& n);
  void (*prepare)(ir::function& f);
  void (*emit)(codegen::llvm::module_state& s, std::string const& symbol, void const* wanted);  // an options
  debugger_note (*loaded)(std::string_view object, std::string_view symbol, void* entry, options wanted);
  decltype(services::report) report;
  void (*raise)(failure const& f);
};
/// Of debug.hpp, and null without it.
[[gnu::weak]] extern instruments const linked_instruments;
/// Null unless debug.hpp is included somewhere in the program.
inline instruments const* find_instruments() {
  instruments const* const there = &linked_instruments;
  return there;
}

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

/// The schedule with real extents: the how-lambda run with the knob values that a tuner has kept for it (cache/tuned.hpp);
/// without such, with those that it has kept for the nearest shapes, or on another machine with the same instructions
/// (cache/relatives.hpp); else with each knob's first value. Where that is illegal for
/// these extents or does not fit the registers of this target, with the first values that do, the last knob fastest; 4096
/// combinations are tried at most. When none fits this target, but some would fit a machine with more registers, the one
/// of those that needs the fewest: a program that ran on its author's machine runs on a smaller one, slower, and `loops`
/// says why. In `reason`, where it is given, comes which of these it is, in a sentence.
/// Errors  schedule_error: step, axis, nest, a way out
/// Cost    20 us for a matmul; with knobs, the look at the disk besides (cache::find_tuned, cache::find_relative)
schedule make_schedule(compile_request const& r, std::string* reason = nullptr);

namespace detail {
/// The request's program as it is scheduled and lowered: for sizes of its layout, in elementary operations.
program expanded_program(compile_request const& r);
/// What a rule is told for a request, with the plan that it takes; in `first` comes the schedule, whose knobs are what it chose.
rule_input rule_input_for(compile_request const& r, program const& expanded, schedule& first);
/// What the how-lambda, or the rule, does with these choices of knob values, for `expanded`, the program of the request.
schedule schedule_with(compile_request const& r, program const& expanded, sequence<std::int32_t> const& choices);
/// The same with choices by the knobs' names.
using knob_chooser = decltype(schedule::chooser);
schedule schedule_with(compile_request const& r, program const& expanded, knob_chooser chooser, void const* wanted);
/// The place of the value that comes nearest.
std::int32_t nearest_value(sequence<std::int64_t> const& values, std::int64_t wanted);
/// What a tuner keeps results of this request under (cache::task_key, cache::family_key). `first`: the how-lambda's schedule with each knob's first
/// value; by rule it is not looked at.
std::string task_of(compile_request const& r, schedule const& first, std::string_view beginning = {});
std::string family_of(compile_request const& r, schedule const& first, std::string_view beginning = {});
/// How many threads calls have, where they are not the machine's; 0: they are, or it is a GPU's request.
int asked_threads(compile_request const& r);
/// Whether a tuner has kept a result for just these arguments on this machine.
bool is_tuned_exactly(compile_request const& r);
/// The extents of all tensors, one behind the other, for which it has kept one for calls that differ in nothing else: of the 64 kept last, and of as
/// many bitwise ones.
sequence<sequence<std::int64_t>> tuned_shapes(compile_request const& r);
/// Why a schedule can become no code for a CPU; empty: it can, perhaps with spilled registers.
std::string why_not(compile_request const& r, schedule const& s);
/// With the request's own program in it, which outlives the expanded one; as make_loops wants it.
schedule finished(compile_request const& r, schedule& s);
/// The loop program before passes, unchecked: for what looks at candidates by the hundred and runs none of them.
ir::function lowered(ir::arena& m, compile_request const& r, schedule const& s);
}  // namespace detail

/// The loop program after all passes. Errors: argument_error for an access out of bounds. Checked, that is left to the
/// code, and unrolled and vectorized loops are serial ones, so that their variables can be told.
ir::function make_loops(ir::arena& m, compile_request const& r, schedule const& s);

/// All of it, with the options of the request and of the environment. Reads WEFT_DUMP (a list of: schedule, lower, pass,
/// pass/NAME, llvm, asm, cuda), WEFT_TIME and WEFT_VERIFY;
/// what they ask for goes to stderr, and once in a process the items of WEFT_DUMP that name nothing. Where a text of the
/// way is asked for, the kernel is made anew even if it is on disk.
/// Errors  as above; device_error without LLVM, or for a target that cannot run here; internal_error with the loop program when weft itself failed
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
