#include <cstdlib>
#include <cstring>

#include "weft/base/joined.hpp"
#include "weft/codegen/cuda/api.hpp"
#include "weft/codegen/cuda/module.hpp"
#include "weft/codegen/cuda/resources.hpp"
#include "weft/codegen/workspace.hpp"
#include "weft/ir/parse.hpp"
#include "weft/ir/verify.hpp"
#include "weft/runtime/cuda/cubin.hpp"
#include "weft/runtime/cuda/driver.hpp"
#include "weft/runtime/cuda/events.hpp"
#include "weft/tune/gpu_bench.hpp"

namespace weft::inline WEFT_ABI {
namespace tuning {
namespace detail {

/// Around each block in the GPU's memory; what is written there is found. An access that goes further meets another allocation, or
/// none, which ends the worker.
inline constexpr std::int64_t gpu_guard_bytes = 64 * 1024;
inline constexpr char gpu_guard = 0x35;

/// Memory and code on a GPU, which go with the value: of an object whose constructor throws, too. Scopes end before that, so that it has one of its own.
class gpu_belongings {
 public:
  using address = runtime::cuda_driver::address;
  explicit gpu_belongings(runtime::cuda_gpu const& gpu) : gpu_(gpu) {}
  gpu_belongings(gpu_belongings const&) = delete;
  gpu_belongings& operator=(gpu_belongings const&) = delete;
  ~gpu_belongings() {
    if (made_.empty() && library_ == nullptr) return;
    runtime::gpu_scope_if_there const here(gpu_);
    if (!here) return;
    for (address a : made_) gpu_.driver->cuMemFree_v2(a);
    if (library_ != nullptr) gpu_.driver->cuLibraryUnload(library_);
  }
  /// Needs   a gpu_scope, as `load` does
  address make(std::int64_t bytes, char const* what) {
    address a = 0;
    gpu_.check(gpu_.driver->cuMemAlloc_v2(&a, static_cast<std::size_t>(bytes)), "tune", what);
    made_.push_back(a);
    return a;
  }
  runtime::cuda_driver::library load(std::string const& cubin) {
    gpu_.check(gpu_.driver->cuLibraryLoadData(&library_, cubin.data(), nullptr, nullptr, 0, nullptr, nullptr, 0), "tune", "cuLibraryLoadData");
    return library_;
  }

 private:
  runtime::cuda_gpu const& gpu_;
  runtime::cuda_driver::library library_ = nullptr;
  sequence<address> made_;
};

/// The arguments in a GPU's memory.
class cuda_arguments {
 public:
  using address = runtime::cuda_driver::address;
  cuda_arguments(runtime::cuda_gpu const& gpu, argument_places const& places) : gpu_(gpu), places_(places), owned_(gpu) {
    runtime::gpu_scope const here(gpu_);
    for (memory_block const& m : places_.blocks) made_.push_back(owned_.make(m.pages_bytes + 2 * gpu_guard_bytes, "memory for the arguments"));
  }
  cuda_arguments(cuda_arguments const&) = delete;
  cuda_arguments& operator=(cuda_arguments const&) = delete;
  address tensor(std::size_t i) const {
    tensor_place const& t = places_.tensors[i];
    auto const block = static_cast<std::size_t>(t.block);
    return made_[block] + static_cast<address>(gpu_guard_bytes + places_.blocks[block].start + t.at);
  }
  argument_places const& places() const { return places_; }
  runtime::cuda_gpu const& gpu() const { return gpu_; }
  /// All blocks as the process has them.
  void bring() {
    std::string const guard(static_cast<std::size_t>(gpu_guard_bytes), gpu_guard);
    for (std::size_t b = 0; b < made_.size(); ++b) {
      std::int64_t const bytes = places_.blocks[b].pages_bytes;
      to_gpu(made_[b], guard.data(), gpu_guard_bytes);
      to_gpu(made_[b] + static_cast<address>(gpu_guard_bytes), places_.pages[b], bytes);
      to_gpu(made_[b] + static_cast<address>(gpu_guard_bytes + bytes), guard.data(), gpu_guard_bytes);
    }
  }
  /// What may be written comes back; else what was written that may not be.
  std::string fetch() {
    std::string fault, bytes;
    for (std::size_t b = 0; b < made_.size(); ++b) {
      memory_block const& m = places_.blocks[b];
      bytes.resize(static_cast<std::size_t>(m.pages_bytes + 2 * gpu_guard_bytes));
      gpu_.check(gpu_.driver->cuMemcpyDtoHAsync_v2(&bytes[0], made_[b], bytes.size(), nullptr), "tune", "copying an argument back");
      gpu_.check(gpu_.driver->cuStreamSynchronize(nullptr), "tune", "copying an argument back");
      char const* const inside = bytes.data() + gpu_guard_bytes;
      for (std::int64_t i = 0; i < gpu_guard_bytes && fault.empty(); ++i)
        if (bytes[static_cast<std::size_t>(i)] != gpu_guard || inside[m.pages_bytes + i] != gpu_guard) fault = "it writes outside of its tensors";
      if (m.written) std::memcpy(places_.pages[b], inside, static_cast<std::size_t>(m.pages_bytes));
      else if (std::memcmp(places_.pages[b], inside, static_cast<std::size_t>(m.pages_bytes)) != 0) fault = "it writes to an input";
    }
    return fault;
  }

 private:
  void to_gpu(address to, char const* from, std::int64_t bytes) {
    gpu_.check(gpu_.driver->cuMemcpyHtoDAsync_v2(to, from, static_cast<std::size_t>(bytes), nullptr), "tune", "copying an argument to the GPU");
    gpu_.check(gpu_.driver->cuStreamSynchronize(nullptr), "tune", "copying an argument to the GPU");
  }
  runtime::cuda_gpu const& gpu_;
  argument_places places_;
  gpu_belongings owned_;
  sequence<address> made_;
};

inline ir::function parsed_for_gpu(ir::arena& m, std::string_view loops, known_intrinsics known) {
  ir::function f = ir::parse(m, loops, known);
  if (!ir::verify(f).empty()) WEFT_THROW(internal_error("tune: a loop program that is none"));
  return f;
}
/// By the NVRTC that the calls take, or the driver may refuse what a search has found.
inline cuda_binary compiled_text(std::string const& text, std::string const& architecture) {
  std::string why;
  nvrtc_api const* const nvrtc = runtime::nvrtc_for_driver(&why);
  if (nvrtc == nullptr) WEFT_THROW(device_error(joined({"tune: ", why})));
  return compile_cuda(text, architecture, {"--ptxas-options=-v"}, nvrtc);
}
/// The length of the log, the log, the machine code.
inline std::string packed(cuda_binary const& code) {
  std::string bytes = std::to_string(code.log.size());
  bytes += joined({":", code.log, code.cubin});
  return bytes;
}
inline cuda_binary unpacked(std::string_view bytes) {
  std::size_t const colon = bytes.find(':');
  auto const log = static_cast<std::size_t>(std::atoll(bytes.data()));
  cuda_binary code;
  if (colon == std::string_view::npos || log > bytes.size() - colon - 1) return code;
  code.log = std::string(bytes.substr(colon + 1, log));
  code.cubin = std::string(bytes.substr(colon + 1 + log));
  return code;
}

class cuda_candidate final : public candidate {
 public:
  cuda_candidate(cuda_arguments& on, std::string_view loops, known_intrinsics known, bool may_spill, std::string_view made)
      : on_(on), gpu_(on.gpu()), owned_(on.gpu()) {
    ir::arena m;
    ir::function const f = parsed_for_gpu(m, loops, known);
    cuda_module const module = make_cuda_module(f);
    cuda_binary const code = made.empty() ? compiled_text(module.text, gpu_.architecture) : unpacked(made);
    for (cuda_usage const& u : usage_in(code.log, module, gpu_.architecture)) refuse_unless_fit(u, may_spill);
    runtime::gpu_scope const here(gpu_);
    load(module, code.cubin);
    if (std::int64_t const bytes = workspace_bytes(f); bytes > 0) workspace_ = owned_.make(bytes, "memory for intermediate tensors");
  }
  double run(std::int64_t calls, surroundings, std::string& why) override {
    runtime::gpu_scope const here(gpu_);
    if (calls == 1) on_.bring();
    runtime::cuda_events const time(gpu_);
    time.record(0);
    for (std::int64_t i = 0; i < calls; ++i) call();
    time.record(1);
    double const ns = time.ns();
    if (calls == 1) why = on_.fetch();
    return why.empty() ? ns : -1;
  }

 private:
  struct launched {
    runtime::cuda_driver::kernel entry = nullptr;
    unsigned blocks[3] = {1, 1, 1}, threads[3] = {1, 1, 1}, shared_bytes = 0;
  };
  void refuse_unless_fit(cuda_usage const& u, bool may_spill) const {
    auto const n = [](std::int64_t v) { return std::to_string(v); };
    if (u.shared_bytes > gpu_.shared_bytes)
      WEFT_THROW(device_error(joined({u.kernel, ": a block shares ", n(u.shared_bytes), " bytes of memory, of ", n(gpu_.shared_bytes)})));
    if (u.registers > 0 && u.limit.size() > 0 && u.blocks < 1)
      WEFT_THROW(device_error(joined({u.kernel, ": no block of ", n(u.threads), " threads with ", n(u.registers), " registers each fits a processor: ",
                                      u.limit})));
    if (u.spill_stores + u.spill_loads > 0 && !may_spill)
      WEFT_THROW(device_error(joined({u.kernel, ": ", n(u.spill_stores + u.spill_loads), " bytes of registers are spilled"})));
  }
  void load(cuda_module const& module, std::string const& cubin) {
    runtime::cuda_driver const& d = *gpu_.driver;
    runtime::cuda_driver::library const library = owned_.load(cubin);
    for (cuda_kernel const& k : module.kernels) {
      launched made;
      made.shared_bytes = static_cast<unsigned>(k.shared_bytes);
      for (int i = 0; i < 3; ++i) {
        if (k.blocks[i] != nullptr) made.blocks[i] = static_cast<unsigned>(k.blocks[i]->value);
        made.threads[i] = static_cast<unsigned>(k.threads[i]);
      }
      gpu_.check(d.cuLibraryGetKernel(&made.entry, library, k.name.c_str()), "tune", "cuLibraryGetKernel");
      gpu_.share_memory(made.entry, k.shared_bytes, "tune");
      kernels_.push_back(made);
    }
  }
  void call() {
    cuda_arguments::address tensors[max_arguments];
    std::int64_t scalars[max_arguments];
    void* parameters[2 * max_arguments + 1];
    int count = 0;
    for (std::size_t i = 0; i < on_.places().tensors.size(); ++i) tensors[i] = on_.tensor(i), parameters[count++] = &tensors[i];
    for (std::size_t i = 0; i < on_.places().scalars.size(); ++i) scalars[i] = on_.places().scalars[i], parameters[count++] = &scalars[i];
    parameters[count] = &workspace_;
    for (launched const& k : kernels_)
      gpu_.check(gpu_.driver->cuLaunchKernel(reinterpret_cast<runtime::cuda_driver::function>(k.entry), k.blocks[0], k.blocks[1], k.blocks[2],
                                             k.threads[0], k.threads[1], k.threads[2], k.shared_bytes, nullptr, parameters, nullptr),
                 "tune", "cuLaunchKernel");
  }

  cuda_arguments& on_;
  runtime::cuda_gpu const& gpu_;
  gpu_belongings owned_;
  runtime::cuda_driver::address workspace_ = 0;
  sequence<launched> kernels_;
};
class cuda_bench final : public gpu_bench {
 public:
  cuda_bench(int device, argument_places const& places) : arguments_(runtime::open_gpu(device), places) {}
  candidate* load(std::string_view loops, known_intrinsics known, bool may_spill, std::string_view made) override {
    return new cuda_candidate(arguments_, loops, known, may_spill, made);
  }

 private:
  cuda_arguments arguments_;
};
inline gpu_bench* open_cuda_bench(int device, argument_places const& places) { return new cuda_bench(device, places); }
inline std::string compiled_for_cuda(std::string_view loops, known_intrinsics known, std::string const& architecture) {
  ir::arena m;
  return packed(compiled_text(make_cuda_module(parsed_for_gpu(m, loops, known)).text, architecture));
}
inline std::string missing_for_cuda() {
  std::string why;
  return runtime::nvrtc_for_driver(&why) != nullptr ? "" : joined({why, ", or tune on the CPU"});
}
inline int cuda_devices() {
  int count = 0;
  runtime::cuda_driver const* const d = runtime::find_cuda_driver();
  return d != nullptr && d->cuDeviceGetCount(&count) == 0 ? count : 0;
}
}  // namespace detail

gpu_bench_services const linked_gpu_bench{detail::open_cuda_bench, detail::compiled_for_cuda, detail::missing_for_cuda, detail::cuda_devices};

}  // namespace tuning
}  // namespace weft::inline WEFT_ABI
