#include <cstdio>
#include <cstdlib>

#include "weft/base/fork_gate.hpp"
#include "weft/base/hash.hpp"
#include "weft/base/joined.hpp"
#include "weft/codegen/cuda/api.hpp"
#include "weft/codegen/cuda/processor.hpp"
#include "weft/codegen/size_code.hpp"
#include "weft/codegen/workspace.hpp"
#include "weft/compile/dump.hpp"
#include "weft/cuda.hpp"
#include "weft/expr/expand.hpp"
#include "weft/lower/bounds.hpp"
#include "weft/matrix_units.hpp"
#include "weft/pass/gpu.hpp"
#include "weft/runtime/cache/cache.hpp"
#include "weft/runtime/cuda/cubin.hpp"
#include "weft/runtime/cuda/reach.hpp"
#include "weft/schedule/print.hpp"
#include "weft/schedule/rules/gpu.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

// --- from the lambdas to text -------------------------------------------------------------------------------------------

/// The elements of each stage in a row, a thread for each, 256 in a block.
inline void rows_of_threads(schedule& s) {
  program const& p = s.computation();
  for (std::size_t stage = 0; stage < p.stages.size(); ++stage) {
    if (p.stages[stage].spatial == 0 || p.stages[stage].scanned >= 0 || p.stages[stage].by != nullptr) continue;
    auto const loop = [&](int d) { return axis{s.loop_of[static_cast<std::size_t>(p.stages[stage].first_axis + d)]}; };
    axis all = loop(0);
    for (int d = 1; d < p.stages[stage].spatial; ++d) all = s.fuse(all, loop(d));
    auto const [block, thread] = s.split(all, 256);
    s.bind(block, thread_axis::block_x);
    s.bind(thread, thread_axis::thread_x);
  }
}
/// The text of the launches.
inline cuda_module printed_module(ir::function const& f) {
  cuda_module module = make_cuda_module(f);
  if (dump_wanted("cuda")) dump("cuda", module.text);
  return module;
}
/// The matrix units of its GPU: mma.sync of 16 x 8 x 16 and bf16 are there from sm_80 on, wgmma on sm_90 alone. One that is not there, or that nobody has asked for
/// yet, counts as sm_80.
inline sequence<intrinsic const*> units_of_gpu(compile_request const& r) {
  std::string architecture;
  if (r.machine != nullptr) architecture = r.machine->cpu;
  else if (runtime::cuda_has_begun()) architecture = runtime::architecture_if_there(r.device);
  if (architecture.size() >= 4 && std::atoi(architecture.c_str() + 3) < 80) return {};
  if (architecture == "sm_90") return {&wgmma_f16, &wgmma_bf16, &mma_f16, &mma_bf16, &mma_s8, &mma_u8};
  return {&mma_f16, &mma_bf16, &mma_s8, &mma_u8};
}
/// What a rule is told of the arguments of a call.
inline rule_input gpu_rule_input(compile_request const& r) {
  rule_input in;
  in.told = r.reasons;
  in.threads = 1;
  in.reassociate = !is_bitwise(r);
  in.dots = units_of_gpu(r);
  in.strides.resize(r.what->tensors.size());
  in.likely.resize(r.what->tensors.size());
  std::size_t next = 0;
  bool open = false, guessed = true;
  auto const one = [&](int tensor) {
    argument_layout const& a = r.layout->arguments[next++];
    for (std::int64_t e : a.extents) {
      open_range const range = r.layout->range_of(e);
      // Where nothing is known to divide a size, the rule is to see one that nothing divides.
      std::int64_t const likely = e >= -1 ? e : range.shift > 0 || range.likely == 0 ? range.likely : range.likely | 1;
      open = open || e < -1, guessed = guessed && (e >= -1 || likely > 0);
      in.likely[static_cast<std::size_t>(tensor)].push_back(likely);
    }
    if (!a.packed) in.strides[static_cast<std::size_t>(tensor)] = strides_that_move(a);
  };
  for (input_info const& i : r.what->inputs)
    if (i.tensor >= 0) one(i.tensor);
  for (std::size_t inputs = next; std::int32_t tensor : r.what->outputs) {
    for (std::size_t i = 0; i < inputs; ++i)
      in.in_place = in.in_place || r.layout->arguments[i].alias_class == r.layout->arguments[next].alias_class;
    one(tensor);
  }
  if (!open || !guessed) in.likely.clear();
  in.searched = !open;
  return in;
}
inline std::uint8_t write_gpu_rule(schedule& s, rule_input const* in) {
  std::uint8_t const plan = in != nullptr ? schedule_by_gpu_rule(s, *in) : std::uint8_t(0);
  if (s.steps.empty()) rows_of_threads(s);
  return plan;
}
/// What was tuned for these arguments on this GPU, then what is near; else by rule, or with the first values of the knobs that are
/// legal.
inline schedule make_gpu_schedule(compile_request const& r, program const& expanded, std::string* reason = nullptr) {
  if (reason != nullptr) reason->clear();
  std::string not_taken;  // what is_tuned said of what was kept
  auto const say = [&](char const* text) {
    if (reason != nullptr) *reason = text + not_taken;
  };
  schedule s;
  bool const by_rule = r.by_rule && r.how == nullptr;
  if (by_rule && make_by_rule(r, expanded, s, reason)) {
    if (r.reasons != nullptr) r.reasons->clear();
    return s;
  }
  sequence<std::int32_t> choices;
  std::string why;
  for (int tries = 0; tries < 4096; ++tries) {
    if (!by_rule) s = schedule_with(r, expanded, choices);
    schedule tuned;
    if (tries == 0 && !by_rule && r.machine != nullptr && !s.knobs.empty() && is_tuned(r, expanded, s, nullptr, tuned, reason)) {
      if (r.reasons != nullptr) r.reasons->clear();
      return tuned;
    }
    if (tries == 0 && reason != nullptr) not_taken = *reason;
    say(by_rule ? "by rule: the kernel has no how-lambda for GPUs" : r.how == nullptr ? "a thread for each element" : s.knobs.empty()
        ? "as the how-lambda says: it has no knobs" : tries == 0 ? "not tuned: each knob has its first value"
                                                                 : "not tuned: the knobs have the first values that are legal here");
    if (s.state != verdict::illegal) return s;
    if (r.how == nullptr) return plain_nest(r, expanded);  // one thread does it all
    if (why.empty()) why = explain(s, r.name);
    if (!next_choice(choices, s.knobs)) break;
  }
  WEFT_THROW(schedule_error(why));
}
/// Without a CPU's instructions.
inline schedule without_instructions(schedule s) {
  for (loop_info& l : s.loops)
    if (l.by != nullptr && (!l.by->is_tile() || l.by->is_of_cpu())) l.by = nullptr;
  return s;
}
inline ir::function lowered_for_gpu(ir::arena& m, compile_request const& r, schedule const& s) {
  schedule const on_gpu = without_instructions(s);
  return lower(m, on_gpu.computation(), on_gpu, *r.layout, r.name, vector_tails::mask);
}
inline ir::function gpu_loops_of(ir::arena& m, compile_request const& r, schedule const& s) {
  if (std::string const why = check_rounded(m, s.computation(), s, *r.layout); !why.empty())
    WEFT_THROW(schedule_error(joined({"split: an axis that is rounded up reads too far\n  in    schedule of ", r.name, ": ", why})));
  ir::function f = lowered_for_gpu(m, r, s);
  pass_log log;
  log.verify = verify_wanted();
  if (log.verify) verify_or_throw("lower", f);
  if (dump_wanted("lower")) dump("lower", ir::print(f));
  run_gpu_passes(f, {after_pass, &log});
  return f;
}
inline ir::function make_gpu_loops(ir::arena& m, compile_request const& r, kernel_texts* texts = nullptr, std::string* loops = nullptr) {
  name_unknown_dumps();
  program const expanded = detail::expanded_program(r);
  nest const plain(expanded, [](int, int) { return std::int64_t(-1); }, {});
  ir::function const unscheduled = lower(m, expanded, plain, *r.layout, r.name, vector_tails::partition, narrow_memory::no);
  // Open sizes are proved call by call (open_sizes::fit).
  if (std::string const why = unscheduled.sizes.empty() ? check_bounds(unscheduled) : ""; !why.empty()) WEFT_THROW(argument_error(joined({r.name, ": ", why})));
  sequence<std::string> reasons;
  compile_request asked = r;
  if (texts != nullptr) asked.reasons = &reasons;
  schedule const s = without_instructions(make_gpu_schedule(asked, expanded));
  if (dump_wanted("schedule")) dump("schedule", print_loops(s));
  if (loops != nullptr) *loops = print_loops(s);
  if (texts != nullptr) {
    texts->loops = print_loops(s), texts->taken = s.steps;
    for (std::string const& why : reasons) texts->steps += joined({"# ", why, "\n"});  // which a reader of traces skips
    texts->steps += print_trace(s);
  }
  ir::function f = gpu_loops_of(m, r, s);
  if (texts != nullptr) texts->ir = ir::print(f);
  return f;
}
using runtime::gpu_reach;
/// 16 bytes for wide accesses, 32 for tiles of matrix units; 0 too of an address that no element can have.
inline int gpu_alignment(argument const& a, bool there) {
  if (a.is_scalar) return 0;
  if (!there) return gpu_reach(a).low == 0 ? 32 : size_bytes(a.type);
  auto const place = reinterpret_cast<std::uintptr_t>(a.data);
  auto const size = static_cast<std::uintptr_t>(size_bytes(a.type));
  return place % 32 == 0 ? 32 : place % 16 == 0 ? 16 : place % size == 0 ? static_cast<int>(size) : 0;
}
/// The layout of a call. Memory that is made for the call begins at a multiple of 32 bytes, and so does most other.
inline call_layout gpu_layout(program const& what, std::string_view name, argument const* arguments, int count,
                              bool const* on_gpu) {
  call_layout l = weft::bind(what, name, arguments, count);
  std::size_t tensor = 0;
  for (int i = 0; i < count; ++i) {
    if (arguments[i].is_scalar) continue;
    int const alignment = gpu_alignment(arguments[i], on_gpu != nullptr && on_gpu[i]);
    if (alignment == 0)  // the GPU would end the process's use of it
      WEFT_THROW(argument_error(joined({name, ": argument ", std::to_string(i + 1), " begins at an address that is no multiple of ",
                                        std::to_string(size_bytes(arguments[i].type)), " bytes, as each ", weft::name(arguments[i].type), " on a GPU must"})));
    l.arguments[tensor].constant = false;  // nothing is kept on a GPU between calls
    l.arguments[tensor++].alignment = alignment;
  }
  return l;
}
inline program gpu_program(kernel_face const& face, argument* arguments, int count) {
  program what = face.what(face.object);
  bool left_out = false;
  for (int i = 0; i < count; ++i) left_out = left_out || arguments[i].is_allocated_here;
  if (left_out) shape_outputs(what, arguments, count);
  return what;
}
/// A GPU of this machine as a target. Errors: device_error
inline target gpu_target(int device) {
  runtime::gpu_identity const g = runtime::identify_gpu(device);
  target t;
  t.arch = architecture::nvidia;
  t.cpu = g.architecture;
  t.features.push_back(g.name);
  t.fma = true;
  t.l1_bytes = g.shared_bytes, t.l2_bytes = g.l2_bytes;
  t.threads = static_cast<std::int32_t>(g.processors);
  return t;
}
/// Null where there is no such GPU, or nothing that was tuned could be found: then the driver is left alone.
inline target const* gpu_target_if_there(int device) {
  if (cache::directory_in_use().empty()) return nullptr;
  runtime::cuda_driver const* const d = runtime::find_cuda_driver(nullptr);
  int devices = 0;
  if (d == nullptr || d->cuDeviceGetCount(&devices) != 0 || device < 0 || device >= devices) return nullptr;
  return kept_target(gpu_target(device));
}
inline compile_request gpu_request(kernel_face const& face, program const& what, call_layout const& layout, target const* machine) {
  bool const by_rule = face.how == nullptr && !is_set(face.wanted.plain, "WEFT_PLAIN");
  return {face.name, &what, face.how, face.object, &layout, machine, face.wanted, by_rule, nullptr, &gpu_compilation, nullptr, face.device};
}
/// Owns what a form with open sizes knows of them; null: all are numbers.
struct owned_open_sizes {
  open_sizes* of = nullptr;
  owned_open_sizes() = default;
  owned_open_sizes(owned_open_sizes const&) = delete;
  owned_open_sizes& operator=(owned_open_sizes const&) = delete;
  ~owned_open_sizes() { delete of; }
};
/// The layout with open sizes, where the call names some.
inline call_layout open_gpu_layout(program const& what, kernel_face const& face, argument* arguments, int count, bool const* on_gpu,
                                   owned_open_sizes& open) {
  call_layout layout = gpu_layout(what, face.name, arguments, count, on_gpu);
  if (face.open == nullptr) return layout;
  layout.multiples = true;  // rows of 16 bytes are worth code of their own
  open.of = face.open(what, face.name, arguments, count, layout);
  return open.of != nullptr ? open.of->layout : layout;
}
inline ir::function gpu_function(ir::arena& m, kernel_face const& face, argument* arguments, int count, bool const* on_gpu,
                                 owned_open_sizes& open, kernel_texts* texts = nullptr, std::string* loops = nullptr) {
  program const what = gpu_program(face, arguments, count);
  call_layout const layout = open_gpu_layout(what, face, arguments, count, on_gpu, open);
  // What is tuned, is for numbers.
  target const* const machine = open.of != nullptr ? nullptr : gpu_target_if_there(face.device);
  ir::function f = make_gpu_loops(m, gpu_request(face, what, layout, machine), texts, loops);
  if (open.of != nullptr && f.sizes.size() > open_sizes::most)
    WEFT_THROW(argument_error(joined({face.name, ": more than ", std::to_string(open_sizes::most), " open sizes and strides: name fewer extents"})));
  return f;
}
inline bool fits_gpu(compile_request const& r, schedule const& s) {
  ir::arena m;
  ir::function const f = gpu_loops_of(m, r, s);
  for (cuda_kernel const& k : make_cuda_module(f).kernels)
    if (r.machine != nullptr && k.shared_bytes > r.machine->l1_bytes) return false;
  return true;
}
inline call_layout bound_for_gpu(program const& what, std::string_view name, argument const* arguments, int count) {
  return gpu_layout(what, name, arguments, count, nullptr);
}
inline std::string gpu_schedule_reason(kernel_face const& face, argument* arguments, int count) {
  program const what = gpu_program(face, arguments, count);
  call_layout const layout = gpu_layout(what, face.name, arguments, count, face.on_gpu);
  std::string reason;
  compile_request const asked = gpu_request(face, what, layout, gpu_target_if_there(face.device));
  static_cast<void>(make_gpu_schedule(asked, expanded_program(asked), &reason));
  return reason;
}

gpu_way const gpu_compilation{gpu_rule_input, write_gpu_rule, lowered_for_gpu, gpu_loops_of, fits_gpu, bound_for_gpu, gpu_target, gpu_schedule_reason};

// --- compiled forms -----------------------------------------------------------------------------------------------------

struct cuda_form {
  sequence<argument> arguments;
  sequence<std::int32_t> aligned;
  int device = 0;
  options wanted{};
  std::string name, text;  // the text: of what varies with captured values
  std::string loops;       // for what the driver says of a launch
  std::uint64_t shared = 0;
  bool nothing_to_do = false;
  std::uint32_t supersession = 0;  // as of ready_kernel
  runtime::cuda_driver::library library = nullptr;
  struct kernel {
    runtime::cuda_driver::kernel entry = nullptr;
    unsigned blocks[3], threads[3], shared_bytes;
    bool takes_workspace;
    std::string name;
    int wanted[3] = {-1, -1, -1};  // numbers of size_code that say how many blocks; -1: as `blocks` says
  };
  sequence<kernel> kernels;
  std::int64_t workspace_bytes = 0;
  owned_open_sizes open;
  size_code at_launch;  // of open sizes: blocks, and bytes of workspace
  int wanted_workspace = -1, open_count = 0;
  cuda_form* next = nullptr;
};
inline bool fits(cuda_form const& f, cuda_call const& c, std::uint64_t shared) {
  if (f.device != c.device || f.shared != shared) return false;
  if (f.open.of != nullptr) {
    if (static_cast<std::size_t>(c.count) != f.aligned.size() || !f.open.of->fit(c.arguments, c.count)) return false;
    call_layout const& layout = f.open.of->layout;
    std::size_t tensor = 0;
    for (int i = 0; i < c.count; ++i) {
      argument const& a = c.arguments[i];
      if (gpu_alignment(a, c.on_gpu[i]) != f.aligned[static_cast<std::size_t>(i)]) return false;
      if (a.is_scalar) continue;
      argument_layout const& l = layout.arguments[tensor++];
      for (int d = 0; d < a.rank; ++d)  // what 16 divides is for the form that counts on it
        if (std::int64_t const e = l.extents[static_cast<std::size_t>(d)]; e < -1 && layout.range_of(e).shift == 0 && a.extents[d] % 16 == 0)
          return false;
    }
    return true;
  }
  for (int i = 0; i < c.count; ++i) {
    argument const &a = c.arguments[i], &b = f.arguments[static_cast<std::size_t>(i)];
    if (a.rank != b.rank || a.type != b.type || a.is_scalar != b.is_scalar) return false;
    for (int d = 0; d < a.rank; ++d)
      if (a.extents[d] != b.extents[d] || a.strides[d] != b.strides[d]) return false;
    if (gpu_alignment(c.arguments[i], c.on_gpu[i]) != f.aligned[static_cast<std::size_t>(i)]) return false;
    if (a.data == nullptr && !a.is_scalar && !f.nothing_to_do && !is_empty(a)) return false;  // bind says what is wrong
  }
  return true;
}
/// Whether no tuner has found another schedule for it since.
inline bool is_current(cuda_form const& f) { return f.supersession == supersessions(f.name); }
/// The form's launches, without their code: nothing is loaded of what cannot be launched.
inline void describe_launches(cuda_form& form, cuda_module const& module, runtime::cuda_gpu const& gpu) {
  for (cuda_kernel const& k : module.kernels) {
    cuda_form::kernel made{nullptr, {1, 1, 1}, {1, 1, 1}, static_cast<unsigned>(k.shared_bytes), k.takes_workspace, k.name};
    for (int i = 0; i < 3; ++i) {
      if (k.blocks[i] != nullptr && k.blocks[i]->kind == op::literal) made.blocks[i] = static_cast<unsigned>(k.blocks[i]->value);
      else if (k.blocks[i] != nullptr) made.wanted[i] = form.at_launch.add(k.blocks[i]);
      made.threads[i] = static_cast<unsigned>(k.threads[i]);
    }
    if (k.shared_bytes > gpu.shared_bytes)
      WEFT_THROW(schedule_error(joined({form.name, ": a block shares ", std::to_string(k.shared_bytes), " bytes of memory, and this GPU has ",
                                        std::to_string(gpu.shared_bytes), ": make its tiles smaller"})));
    form.kernels.push_back(made);
  }
  if (form.at_launch.size() > size_code::most)
    WEFT_THROW(argument_error(joined({form.name, ": what its launches are told of open sizes is too long: name fewer extents"})));
}
inline void load_form(cuda_form& form, std::string const& cubin, runtime::cuda_gpu const& gpu) {
  struct unloader {  // of what the driver refuses halfway, which each call would load again
    runtime::cuda_driver const& driver;
    runtime::cuda_driver::library library = nullptr;
    ~unloader() {
      if (library != nullptr) driver.cuLibraryUnload(library);
    }
  } loaded{*gpu.driver};
  gpu.check(gpu.driver->cuLibraryLoadData(&loaded.library, cubin.data(), nullptr, nullptr, 0, nullptr, nullptr, 0), form.name, "cuLibraryLoadData");
  for (cuda_form::kernel& k : form.kernels) {
    gpu.check(gpu.driver->cuLibraryGetKernel(&k.entry, loaded.library, k.name.c_str()), form.name, "cuLibraryGetKernel");
    gpu.share_memory(k.entry, k.shared_bytes, form.name);
  }
  form.library = loaded.library;
  loaded.library = nullptr;
}
inline bool is_nothing(argument const* arguments, int count) {
  for (int i = 0; i < count; ++i)
    if (arguments[i].is_output && !is_empty(arguments[i])) return false;
  return true;
}
/// Whether what is done on the stream goes into a graph. The default stream answers 906 while another one is captured.
inline bool is_captured(runtime::cuda_gpu const& gpu, void* stream) {
  int status = 0;
  int const result = gpu.driver->cuStreamIsCapturing(static_cast<runtime::cuda_driver::stream>(stream), &status);
  return result == 906 || (result == 0 && status != 0);
}
inline cuda_form const& find_form(cuda_table& table, kernel_face const& face, cuda_call const& c, runtime::cuda_gpu const& gpu) {
  std::uint64_t const shared = shared_memory(c.arguments, c.count);
  auto const look = [&](std::string const* text) -> cuda_form const* {
    for (cuda_form const* f = __atomic_load_n(&table.first, __ATOMIC_ACQUIRE); f != nullptr; f = f->next)
      if (f->wanted == face.wanted && fits(*f, c, shared) && is_current(*f) && (text == nullptr || *text == f->text)) return f;
    return nullptr;
  };
  if (!face.varies)
    if (cuda_form const* f = look(nullptr)) return *f;
  fork_gate const no_fork;
  ::weft::guard const hold(table.lock);
  if (!face.varies)
    if (cuda_form const* f = look(nullptr)) return *f;
  struct dropper {
    cuda_form* f;
    ~dropper() { delete f; }
  } made{new cuda_form};
  cuda_form& form = *made.f;
  form.arguments.assign(c.arguments, c.arguments + c.count);
  for (int i = 0; i < c.count; ++i) form.aligned.push_back(gpu_alignment(c.arguments[i], c.on_gpu[i]));
  form.device = c.device;
  form.supersession = supersessions(face.name);
  form.wanted = face.wanted;
  form.name = std::string(face.name);
  form.shared = shared;
  form.nothing_to_do = is_nothing(c.arguments, c.count);
  ir::arena m;
  if (form.nothing_to_do) {
    gpu_layout(gpu_program(face, c.arguments, c.count), face.name, c.arguments, c.count, c.on_gpu);  // says what is wrong
  } else {
    stopwatch watch;
    ir::function const f = gpu_function(m, face, c.arguments, c.count, c.on_gpu, form.open, nullptr, &form.loops);
    if (form.open.of != nullptr) form.open.of->name_extents(form.loops);
    double const lowered = watch.lap();
    cuda_module const module = printed_module(f);
    double const printed = watch.lap();
    if (face.varies) {
      form.text = module.text;
      if (cuda_form const* known = look(&form.text)) return *known;
    }
    if (is_captured(gpu, c.stream))
      WEFT_THROW(device_error(joined({face.name, ": its stream is being captured, and the first call for arguments of these shapes compiles and "
                                                 "loads code, which no graph can hold: call it once before the capture begins"})));
    form.open_count = static_cast<int>(f.sizes.size());
    if (f.sizes.empty()) form.workspace_bytes = workspace_bytes(f);
    else if (ir::expr const bytes = workspace_offset(m, f, nullptr); !ir::is_literal(bytes, 0)) form.wanted_workspace = form.at_launch.add(bytes);
    describe_launches(form, module, gpu);
    watch.lap();
    runtime::cubin const cubin = runtime::cubin_of(module.text, form.name, gpu);
    double const made_ms = watch.lap();
    load_form(form, cubin.code, gpu);
    double const loaded = watch.lap();
    if (times_wanted())
      std::fprintf(stderr, "weft: %-16s %6.2f ms   for a GPU: schedule, lower and passes %.2f, text %.2f, %s %.2f, load %.2f; %zu bytes\n",
                   form.name.c_str(), lowered + printed + made_ms + loaded, lowered, printed, cubin.from_disk ? "from disk" : "NVRTC", made_ms, loaded,
                   cubin.code.size());
  }
  form.next = table.first;
  __atomic_store_n(&table.first, made.f, __ATOMIC_RELEASE);
  made.f = nullptr;
  return form;
}

// --- running ------------------------------------------------------------------------------------------------------------

/// Memory on the GPU for one call, in the order of its stream. Where the call ends by an exception, copies between it and the host's memory are waited for:
/// those of pinned memory are under way, and the caller may do with it what it likes.
class call_memory {
 public:
  call_memory(runtime::cuda_gpu const& gpu, cuda_form const& form, void* stream)
      : gpu_(gpu), form_(form), stream_(static_cast<runtime::cuda_driver::stream>(stream)) {}
  call_memory(call_memory const&) = delete;
  call_memory& operator=(call_memory const&) = delete;
  ~call_memory() {
    if (copies_) gpu_.driver->cuStreamSynchronize(stream_);
    for (runtime::cuda_driver::address a : made_) gpu_.driver->cuMemFreeAsync(a, stream_);
  }
  runtime::cuda_driver::address make(std::int64_t bytes) {
    runtime::cuda_driver::address a = 0;
    int const result = gpu_.driver->cuMemAllocAsync(&a, static_cast<std::size_t>(bytes), stream_);
    gpu_.check_memory(result, form_.name, bytes);
    made_.push_back(a);
    return a;
  }
  void begin_copies() { copies_ = true; }
  /// The result of waiting for all that the call has done.
  int wait() {
    copies_ = false;
    return gpu_.driver->cuStreamSynchronize(stream_);
  }

 private:
  runtime::cuda_gpu const& gpu_;
  cuda_form const& form_;
  runtime::cuda_driver::stream stream_;
  bool copies_ = false;  // are under way
  sequence<runtime::cuda_driver::address> made_;
};
/// What the open sizes of a call make of the launches, before anything is copied or launched.
inline void form_sizes(cuda_form const& form, cuda_call const& c, std::int64_t* sizes, std::int64_t* values) {
  if (form.open.of == nullptr) return;
  form.open.of->read(c.arguments, sizes);
  bool const fine = form.at_launch.run(sizes, values);
  if (!fine || (form.wanted_workspace >= 0 && values[form.wanted_workspace] > most_workspace))
    WEFT_THROW(argument_error(joined({form.name, ": its intermediate tensors need more than 2^48 bytes"})));
  for (cuda_form::kernel const& k : form.kernels)
    for (int i = 0; i < 3; ++i)
      if (std::int64_t const blocks = k.wanted[i] >= 0 ? values[k.wanted[i]] : 1; blocks > most_blocks(i))
        WEFT_THROW(argument_error(too_many_blocks(form.name, blocks, i)));
}
/// Says which launch it was, and of which loops.
[[noreturn]] inline void refuse_launch(cuda_form const& form, cuda_form::kernel const& k, unsigned const* blocks, std::string const& said) {
  auto const three = [](unsigned const* n) { return joined({std::to_string(n[0]), " x ", std::to_string(n[1]), " x ", std::to_string(n[2])}); };
  auto const place = static_cast<std::size_t>(&k - &form.kernels[0]) + 1;
  WEFT_THROW(device_error(joined({form.name, ": cuLaunchKernel of ", k.name, ", launch ", std::to_string(place), " of ", std::to_string(form.kernels.size()), ", ", three(blocks),
                                  " blocks of ", three(k.threads), " threads that share ", std::to_string(k.shared_bytes), " bytes: ", said, "\n", form.loops})));
}
inline void launch_on_gpu(cuda_form const& form, cuda_call const& c, runtime::cuda_gpu const& gpu) {
  using address = runtime::cuda_driver::address;
  runtime::cuda_driver const& d = *gpu.driver;
  auto const stream = static_cast<runtime::cuda_driver::stream>(c.stream);
  std::string apart;  // what has gaps comes back to it; `memory` waits for that
  call_memory memory(gpu, form, c.stream);
  address tensors[max_arguments], copies[max_arguments] = {}, workspace = 0;
  std::int64_t scalars[max_arguments], sizes[open_sizes::most], values[size_code::most];
  void* parameters[max_arguments + open_sizes::most + 1];
  form_sizes(form, c, sizes, values);
  int count = 0, numbers = 0;
  bool waits = false;
  for (int i = 0; i < c.count; ++i) {
    argument const& a = c.arguments[i];
    if (a.is_scalar) continue;
    tensors[count] = reinterpret_cast<address>(a.data);
    if (!c.on_gpu[i] && !is_empty(a)) {  // of an empty one the kernel has an address that nobody reads
      gpu_reach const r(a);
      auto const size = static_cast<std::int64_t>(size_bytes(a.type));
      auto const bytes = static_cast<std::size_t>(r.elements() * size);
      if (!waits && is_captured(gpu, c.stream))
        WEFT_THROW(argument_error(joined({form.name, ": its stream is being captured, and memory of the host's is copied and waited for, which no "
                                                     "graph can hold: give it tensors on the GPU"})));
      copies[i] = memory.make(static_cast<std::int64_t>(bytes));
      tensors[count] = copies[i] + static_cast<address>(-r.low * size);
      // Of an output, too: a function of the user's may leave some of it as it was.
      char const* const from = static_cast<char const*>(a.data) + r.low * size;
      memory.begin_copies();
      gpu.check(d.cuMemcpyHtoDAsync_v2(copies[i], from, bytes, stream), form.name, "copying an argument to the GPU");
      waits = true;
    }
    parameters[count] = &tensors[count];
    ++count;
  }
  for (int i = 0; i < form.open_count; ++i) parameters[count++] = &sizes[i];
  for (int i = 0; i < c.count; ++i) {
    if (!c.arguments[i].is_scalar) continue;
    scalars[numbers] = c.arguments[i].scalar_bits;
    parameters[count++] = &scalars[numbers++];
  }
  std::int64_t const bytes = form.wanted_workspace >= 0 ? values[form.wanted_workspace] : form.workspace_bytes;
  if (bytes > 0) workspace = memory.make(bytes);
  parameters[count] = &workspace;
  for (cuda_form::kernel const& k : form.kernels) {
    unsigned blocks[3];
    for (int i = 0; i < 3; ++i) blocks[i] = k.wanted[i] >= 0 ? static_cast<unsigned>(values[k.wanted[i]]) : k.blocks[i];
    if (blocks[0] == 0 || blocks[1] == 0 || blocks[2] == 0) continue;  // an empty stage among others; the driver refuses empty grids
    int const result = d.cuLaunchKernel(reinterpret_cast<runtime::cuda_driver::function>(k.entry), blocks[0], blocks[1], blocks[2],
                                        k.threads[0], k.threads[1], k.threads[2], k.shared_bytes, stream, parameters, nullptr);
    if (result != 0) refuse_launch(form, k, blocks, gpu.said_of(result));
  }
  if (!waits) return;
  // Between the elements of an output may be those of another: only its own are written.
  std::size_t apart_bytes = 0, next = 0;
  auto const bytes_of = [&](int i) { return static_cast<std::size_t>(gpu_reach(c.arguments[i]).elements()) * static_cast<std::size_t>(size_bytes(c.arguments[i].type)); };
  auto const is_copied = [&](int i) { return copies[i] != 0 && c.arguments[i].is_output; };
  for (int i = 0; i < c.count; ++i)
    if (is_copied(i) && runtime::has_gaps(c.arguments[i])) apart_bytes += bytes_of(i);
  apart.resize(apart_bytes);
  // A copy to memory that is not pinned waits, so that it is the first to say what became of the kernels.
  auto const check_run = [&](int result, char const* what) {
    if (result != 0) WEFT_THROW(device_error(joined({form.name, ": ", what, gpu.said_of(result), "\n", form.loops})));
  };
  for (int i = 0; i < c.count; ++i) {
    argument const& a = c.arguments[i];
    if (!is_copied(i)) continue;
    char* to = static_cast<char*>(a.data) + gpu_reach(a).low * static_cast<std::int64_t>(size_bytes(a.type));
    if (runtime::has_gaps(a)) to = &apart[next], next += bytes_of(i);
    check_run(d.cuMemcpyDtoHAsync_v2(to, copies[i], bytes_of(i), stream), "running its kernels, or copying an output back: ");
  }
  check_run(memory.wait(), "running its kernels: ");
  next = 0;
  for (int i = 0; i < c.count; ++i)
    if (is_copied(i) && runtime::has_gaps(c.arguments[i])) runtime::put_elements(c.arguments[i], &apart[next]), next += bytes_of(i);
}

WEFT_DECL void refuse_other_gpu(std::string_view kernel, int place, int tensors, int kernels) {
  WEFT_THROW(argument_error(joined({kernel, ": argument ", std::to_string(place + 1), " is on GPU ", std::to_string(tensors), ", and the kernel runs on GPU ",
                                    std::to_string(kernels), ": .on(weft::cuda(", std::to_string(tensors), ")), or a tensor on that one"})));
}
WEFT_DECL void run_on_gpu(cuda_table& table, kernel_face const& face, cuda_call const& c) {
  runtime::cuda_gpu const& gpu = runtime::open_gpu(c.device);
  runtime::gpu_scope const here(gpu);
  cuda_form const& form = find_form(table, face, c, gpu);
  if (!form.nothing_to_do) launch_on_gpu(form, c, gpu);
}
WEFT_DECL cuda_module cuda_text_of(ir::arena& m, kernel_face const& face, argument* arguments, int count) {
  owned_open_sizes open;
  ir::function const f = gpu_function(m, face, arguments, count, face.on_gpu, open);
  return printed_module(f);
}
WEFT_DECL std::string ptx_of(cuda_module const& module, int device) {
  runtime::cuda_driver const* const d = runtime::find_cuda_driver(nullptr);
  int count = 0;
  bool const there = d != nullptr && d->cuInit(0) == 0 && d->cuDeviceGetCount(&count) == 0 && device >= 0 && device < count;
  if (!there) return compile_cuda(module.text, is_for_hopper(module.text) ? "sm_90" : "sm_80").ptx;
  return compile_cuda(module.text, runtime::open_gpu(device).architecture, {}, runtime::nvrtc_for_driver()).ptx;  // as a call would have it
}
WEFT_DECL std::string resources_of(cuda_module const& module) {
  sequence<cuda_usage> all;
  nvrtc_api const* const by = runtime::nvrtc_for_driver();  // as a call would have it; null where the driver is older than all: the newest
  sequence<std::string> const architectures = known_architectures(by);
  if (architectures.empty()) compile_cuda(module.text, "sm_80");  // says that there is no NVRTC
  for (std::string const& a : architectures)
    if (!is_for_hopper(module.text) || a == "sm_90")
      for (cuda_usage const& u : usage_of(module, a, by)) all.push_back(u);
  return print_usage(all);
}
WEFT_DECL void shape_on_gpu(kernel_face const& face, cuda_call const& c, bool made_there) {
  program const what = gpu_program(face, c.arguments, c.count);
  gpu_layout(what, face.name, c.arguments, c.count, nullptr);  // says what is wrong
  if (!made_there) return;
  runtime::cuda_gpu const& gpu = runtime::open_gpu(c.device);
  runtime::gpu_scope const here(gpu);
  // The driver would refuse cuMemAlloc, and end the capture.
  if (is_captured(gpu, c.stream))
    WEFT_THROW(argument_error(joined({face.name, ": its stream is being captured, and outputs that are left out want memory, which no graph can "
                                                 "make: give it a weft::out(...) for each"})));
}
WEFT_DECL kernel_texts gpu_texts_of(kernel_face const& face, argument* arguments, int count) {
  ir::arena m;
  kernel_texts texts;
  owned_open_sizes open;
  gpu_function(m, face, arguments, count, face.on_gpu, open, &texts);
  if (open.of != nullptr) open.of->name_extents(texts.loops);
  return texts;
}

}  // namespace detail
}  // namespace weft::inline WEFT_ABI
