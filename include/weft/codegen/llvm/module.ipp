#include <time.h>

#include "weft/base/joined.hpp"
#include "weft/base/unload.hpp"
#include "weft/codegen/llvm/module.hpp"
#include "weft/codegen/llvm/stmt.hpp"

namespace weft::inline WEFT_ABI {
namespace codegen::llvm {

namespace detail {
inline double now_ms() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) * 1e-6;
}

inline machine_ref make_machine(api const& l, target const& t, bool quick) {
  target_ref backend = nullptr;
  char* message = nullptr;
  if (std::string const why = cannot_be_made(t); !why.empty()) WEFT_THROW(argument_error(why));
  if (l.GetTargetFromTriple(t.triple(), &backend, &message))
    WEFT_THROW(device_error(joined({"this LLVM has no code generator for ", t.triple(), ": ", take_message(l,
                                    message)})));
  return l.CreateTargetMachine(backend, t.triple(), t.cpu.c_str(), t.feature_string().c_str(),
                               quick ? CodeGenLevelNone : CodeGenLevelDefault, RelocPIC, CodeModelDefault);
}
/// LLVM's description of a target, which takes 0.8 ms to make: one of each kind is left for the next compilation.
struct kept_machine {
  target of;
  machine_ref machine = nullptr;
  bool quick = false;
};
inline constinit kept_machine* last_machines[2] = {};
inline void leave(kept_machine* k, bool quick) {
  kept_machine* const old = __atomic_exchange_n(&last_machines[quick], k, __ATOMIC_ACQ_REL);
  if (old == nullptr) return;
  load_llvm().DisposeTargetMachine(old->machine);
  delete old;
}
/// Nobody else has it until it is left.
inline kept_machine* take_machine(api const& l, target const& t, bool quick) {
  static struct dropped_at_unload {
    ~dropped_at_unload() {
      if (library_is_unloaded()) leave(nullptr, false), leave(nullptr, true);
    }
  } const at_end;
  static_cast<void>(at_end);
  if (kept_machine* const k = __atomic_exchange_n(&last_machines[quick], nullptr, __ATOMIC_ACQ_REL)) {
    if (k->of == t) return k;
    leave(k, quick);
  }
  machine_ref const made = make_machine(l, t, quick);
  return new kept_machine{t, made, quick};
}

/// Owns what LLVM must get back.
struct scratch {
  api const& l;
  context_ref context = nullptr;
  module_ref module = nullptr;
  builder_ref builder = nullptr;
  kept_machine* kept = nullptr;
  machine_ref machine = nullptr;  // of `kept`
  data_layout_ref layout = nullptr;
  std::string diagnostics{};
  ~scratch() {
    if (builder != nullptr) l.DisposeBuilder(builder);
    if (module != nullptr) l.DisposeModule(module);
    if (context != nullptr) l.ContextDispose(context);
    if (layout != nullptr) l.DisposeTargetData(layout);
    if (kept != nullptr) leave(kept, kept->quick);
  }
};

inline std::string emit_file(scratch& s, unsigned kind) {
  char* message = nullptr;
  buffer_ref out = nullptr;
  if (s.l.TargetMachineEmitToMemoryBuffer(s.machine, s.module, kind, &message, &out))
    WEFT_THROW(internal_error(joined({"llvm: ", take_message(s.l, message), s.diagnostics})));
  std::string bytes(s.l.GetBufferStart(out), s.l.GetBufferSize(out));
  s.l.DisposeMemoryBuffer(out);
  return bytes;
}
}  // namespace detail

WEFT_DECL object_code compile(ir::function const& f, target const& machine, object_request const& want) {
  llvm_use const use;
  api const& l = load_llvm();
  double const start = detail::now_ms();
  detail::scratch s{l};
  s.context = l.ContextCreate();
  collect_diagnostics(l, s.context, s.diagnostics);
  s.kept = detail::take_machine(l, machine, want.quick);
  s.machine = s.kept->machine;
  s.layout = l.CreateTargetDataLayout(s.machine);
  s.module = l.ModuleCreateWithNameInContext(f.name.c_str(), s.context);
  l.SetTarget(s.module, machine.triple());
  l.SetModuleDataLayout(s.module, s.layout);
  s.builder = l.CreateBuilderInContext(s.context);
  module_state state{l, f, machine, s.context, s.module, s.builder, want.name.empty() ? f.name : want.name};
  object_code code;
  code.symbol = "weft_" + state.name;
  if (want.emit != nullptr) want.emit(state, code.symbol, want.context);
  else function_emitter(state).entry(code.symbol);

  double const emitted = detail::now_ms();
  if (want.verify) {
    char* message = nullptr;
    bool const unsound = l.VerifyModule(s.module, ReturnStatusAction, &message) != 0;
    std::string const why = take_message(l, message);
    if (unsound) WEFT_THROW(internal_error(joined({"llvm: ", why, take_message(l, l.PrintModuleToString(s.module))})));
  }
  // Registers are stack slots until mem2reg. Unrolling, vectors, fma, common subexpressions and what loops do not
  // change are seen to before, so nothing else is needed.
  pass_options_ref const options = l.CreatePassBuilderOptions();
  error_ref const failed =
      l.RunPasses(s.module, "function(mem2reg)", s.machine, options);
  l.DisposePassBuilderOptions(options);
  if (failed != nullptr) WEFT_THROW(internal_error(joined({"llvm: ", take_message(l, failed), s.diagnostics})));
  double const optimised = detail::now_ms();
  if (want.want_ir) code.ir = take_message(l, l.PrintModuleToString(s.module));
  // Code generation changes the module's intrinsics in place, so the text comes after the object.
  code.bytes = detail::emit_file(s, ObjectFile);
  double const done = detail::now_ms();
  if (want.want_assembly) code.assembly = detail::emit_file(s, AssemblyFile);
  if (!s.diagnostics.empty()) WEFT_THROW(internal_error("llvm: " + s.diagnostics));
  code.emit_ms = emitted - start;
  code.passes_ms = optimised - emitted;
  code.machine_ms = done - optimised;
  return code;
}

}  // namespace codegen::llvm
}  // namespace weft::inline WEFT_ABI
