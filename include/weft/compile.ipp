#include <cstdio>
#include <cstring>

#include "weft/base/fork_gate.hpp"
#include "weft/base/joined.hpp"
#include "weft/codegen/llvm/module.hpp"
#include "weft/codegen/workspace.hpp"
#include "weft/compile.hpp"
#include "weft/compile/dump.hpp"
#include "weft/ir/print.hpp"
#include "weft/runtime/cache/cache.hpp"
#include "weft/runtime/cache/key.hpp"
#include "weft/schedule/pressure.hpp"
#include "weft/schedule/print.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

/// What profilers and debuggers call the code, and a valid symbol: matmul_1024x768x512_f32, with the loops' extents in
/// the stage of the first output.
inline std::string code_name(compile_request const& r, schedule const& s) {
  tensor_info const& out = program::at(r.what->tensors, r.what->outputs[0]);
  std::string name;
  for (char const c : r.name) {
    bool const plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    name += plain ? c : '_';
  }
  char before = '_';
  for (std::size_t i = 0; i < r.what->axes.size(); ++i) {  // as it was written: the first loops are those axes
    loop_info const& l = s.loops[i];
    if (l.stage != out.stage) continue;
    name += before + (l.extent < 0 ? joined({"n"}) : std::to_string(l.extent));
    before = 'x';
  }
  return (name += '_') += weft::name(out.type);
}
}  // namespace detail

namespace detail {
inline std::uint64_t compilation_count = 0;

/// Milliseconds since the last call.
struct stopwatch {
  double last = codegen::llvm::detail::now_ms();
  double lap() {
    double const before = last;
    return (last = codegen::llvm::detail::now_ms()) - before;
  }
};
inline bool times_wanted() { return environment_switch("WEFT_TIME"); }
inline bool way_is_shown(options wanted) {
  if (verify_wanted() || wanted.debug) return true;
  char const* const list = environment("WEFT_DUMP");
  return list != nullptr && std::string_view(list) != "schedule";
}
[[gnu::cold]] inline bool load_from_disk(compile_request const& r, options wanted, std::string_view key,
                                         double schedule_ms, compiled_kernel& k) {
  stopwatch watch;
  std::string bytes;
  cache::entry e;
  if (!cache::find(key, bytes, e)) return false;
  double const found = watch.lap();
  // What weft's own loader refuses is made anew: ORC would throw, or believe it.
  std::string why;
  bool const by_orc = runtime::default_linker() == runtime::linker::orc;
  k.code = by_orc ? runtime::link(e.object, e.symbol)
                  : runtime::linked_object(runtime::map_object(e.object, e.symbol, why));
  if (k.code.entry() == nullptr) return false;
  if (wanted.perf) k.note = linked_instruments.loaded(e.object, e.symbol, k.code.entry(), wanted);
  k.workspace_bytes = e.workspace_bytes;
  double const linked = watch.lap();
  if (times_wanted())
    std::fprintf(stderr,
                 "weft: %-16.*s %6.2f ms   from disk: schedule %.2f, find %.2f, link %.2f; %zu bytes, LLVM %.*s\n",
                 static_cast<int>(r.name.size()), r.name.data(), schedule_ms + found + linked, schedule_ms, found,
                 linked, e.object.size(), static_cast<int>(e.llvm.size()), e.llvm.data());
  return true;
}

/// What the code generator is told beside the loop program.
inline codegen::llvm::object_request object_wanted(compile_request const& r, schedule const& s, options const& wanted) {
  codegen::llvm::object_request o{.name = code_name(r, s)};
  if (!wanted.checked && !wanted.debug) return o;
  o.emit = linked_instruments.emit;
  o.context = &wanted;
  return o;
}
[[gnu::cold]] inline void make_code(compile_request const& r, compile_plan const& plan, bool quick, compiled_kernel& k) {
  schedule const& s = plan.how;
  options const& wanted = plan.wanted;
  double const schedule_ms = plan.schedule_ms;
  __atomic_fetch_add(&compilation_count, 1, __ATOMIC_RELAXED);
  stopwatch watch;
  ir::arena m;
  ir::function const f = make_loops(m, r, s);
  double const lowered = watch.lap();
  codegen::llvm::llvm_use const use;
  codegen::llvm::api const& llvm = codegen::llvm::load_llvm();
  double const loaded = watch.lap();
  bool const want_ir = dump_wanted("llvm"), want_assembly = dump_wanted("asm");
  codegen::llvm::object_request request = object_wanted(r, s, wanted);
  request.want_ir = want_ir, request.want_assembly = want_assembly, request.verify = verify_wanted(), request.quick = quick;
  codegen::llvm::object_code const object = codegen::llvm::compile(f, *r.machine, request);
  watch.lap();
  k.code = runtime::link(object.bytes, object.symbol);
  if (wanted.debug || wanted.perf) k.note = linked_instruments.loaded(object.bytes, object.symbol, k.code.entry(), wanted);
  k.workspace_bytes = f.sizes.empty() ? workspace_bytes(f) : workspace_wanted(m, f) != nullptr ? told_by_call : 0;
  double const linked = watch.lap();
  char version[40];
  std::snprintf(version, sizeof version, "%u.%u.%u", llvm.major, llvm.minor, llvm.patch);
  if (!wanted.debug && !quick) cache::keep({plan.key, version, object.symbol, object.bytes, k.workspace_bytes});
  double const kept = watch.lap();
  if (want_ir) dump("llvm", object.ir);
  if (want_assembly) dump("asm", object.assembly);
  if (times_wanted())
    std::fprintf(stderr,
                 "weft: %-16.*s %6.2f ms   schedule %.2f, lower and passes %.2f, llvm: load %.2f, build %.2f, passes %.2f, "
                 "machine code %.2f, link %.2f, keep %.2f; %zu bytes%s\n",
                 static_cast<int>(r.name.size()), r.name.data(),
                 schedule_ms + lowered + loaded + object.emit_ms + object.passes_ms + object.machine_ms + linked + kept,
                 schedule_ms, lowered, loaded, object.emit_ms, object.passes_ms, object.machine_ms, linked, kept,
                 object.bytes.size(), quick ? ", until better code is there" : "");
}
/// Whether an output is made of the stage.
inline bool is_needed(program const& p, sequence<sequence<std::int32_t>> const& readers, int stage, sequence<bool>& seen) {
  for (std::int32_t o : p.outputs)
    if (program::at(p.tensors, o).stage == stage) return true;
  for (std::int32_t r : readers[static_cast<std::size_t>(stage)]) {
    if (seen[static_cast<std::size_t>(r)]) continue;
    seen[static_cast<std::size_t>(r)] = true;
    if (is_needed(p, readers, r, seen)) return true;
  }
  return false;
}
/// The arguments of which a stage is kept, as bits.
inline std::uint64_t kept_arguments(compile_request const& r, schedule const& s) {
  call_layout const& layout = *r.layout;
  std::uint64_t keeps = 0;
  program p;  // as it is lowered: what sizes decide not to read is not kept
  for (memory_wish const& w : s.wishes) {
    if (w.dim != memory_wish::kept) continue;
    if (p.stages.empty()) p = rewritten(expanded_program(r), s.steps);
    int const input = prepack_rule::input_of(p, w.stage);
    std::size_t tensor = 0;
    for (int i = 0; i < input; ++i)
      if (p.inputs[static_cast<std::size_t>(i)].tensor >= 0) ++tensor;
    sequence<bool> seen(p.stages.size(), false);
    if (layout.arguments[tensor].constant && is_needed(p, readers_of(p), w.stage, seen)) keeps |= std::uint64_t(1) << input;
  }
  return keeps;
}
}  // namespace detail

WEFT_DECL std::uint64_t compilations() { return __atomic_load_n(&detail::compilation_count, __ATOMIC_RELAXED); }
WEFT_DECL compile_plan plan_of(compile_request const& r) {
  detail::stopwatch watch;
  options const wanted = detail::wanted_options(r);
  if (std::string const why = r.machine == &host() ? "" : cannot_run_here(*r.machine); !why.empty())
    WEFT_THROW(device_error(joined({r.name, ": code for this target cannot run here: ", why,
                                    "; .ir, .llvm_ir and .assembly show it all the same"})));
  compile_plan plan{wanted, make_schedule(r), {}, 0};
  plan.key = cache::key_of(r.name, *r.what, plan.how.steps, *r.layout, *r.machine, wanted.checked);
  plan.schedule_ms = watch.lap();
  return plan;
}
namespace detail {
inline void complete(compile_request const& r, compile_plan const& plan, compiled_kernel& k) {
  k.checked = plan.wanted.checked;
  k.entry = reinterpret_cast<kernel_entry>(k.code.entry());
  if (!k.checked) k.keeps = kept_arguments(r, plan.how);
  k.steps = plan.how.steps;
}
}  // namespace detail
WEFT_DECL bool load_planned(compile_request const& r, compile_plan const& plan, compiled_kernel& k) {
  if (detail::way_is_shown(plan.wanted) || !detail::load_from_disk(r, plan.wanted, plan.key, plan.schedule_ms, k)) return false;
  detail::complete(r, plan, k);
  return true;
}
WEFT_DECL void make_planned(compile_request const& r, compile_plan const& plan, compiled_kernel& k, bool quick) {
  fork_gate const no_fork;
  detail::make_code(r, plan, quick, k);
  detail::complete(r, plan, k);
}
WEFT_DECL compiled_kernel compile(compile_request const& r) {
  fork_gate const no_fork;
  compile_plan const plan = plan_of(r);
  compiled_kernel k;
  if (!load_planned(r, plan, k)) make_planned(r, plan, k);
  return k;
}

WEFT_DECL std::int64_t wanted_memory(compiled_kernel const& k, std::string const& name, std::int64_t const* sizes,
                                     bool kept) {
  double bytes[2] = {};
  launch const question{nullptr, sizes, nullptr, nullptr, nullptr, nullptr, bytes};
  k.entry(&question);
  if (!(bytes[kept] <= static_cast<double>(most_workspace)))
    WEFT_THROW(argument_error(name + ": its intermediate tensors need more than 2^48 bytes"));
  return static_cast<std::int64_t>(bytes[kept]);
}

WEFT_DECL kernel_texts inspect(compile_request const& r, bool machine_code) {
  fork_gate const no_fork;
  ir::arena m;
  schedule const s = make_schedule(r);
  ir::function const f = make_loops(m, r, s);
  kernel_texts t;
  t.loops = print_loops(s);
  if (std::string const spills = register_pressure(s); !spills.empty()) t.loops += joined({"note: ", spills, "\n"});
  t.steps = print_trace(s);
  t.taken = s.steps;
  t.ir = print(f);
  if (machine_code) {
    options const wanted = detail::wanted_options(r);
    codegen::llvm::object_request request = detail::object_wanted(r, s, wanted);
    request.want_ir = request.want_assembly = true;
    codegen::llvm::object_code object = codegen::llvm::compile(f, *r.machine, request);
    t.llvm_ir = static_cast<std::string&&>(object.ir);
    t.assembly = static_cast<std::string&&>(object.assembly);
  }
  return t;
}

}  // namespace weft::inline WEFT_ABI
