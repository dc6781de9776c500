// A GPU without weft's own calls: texts launched as they are, and time by its own clock.
#pragma once

#include <dlfcn.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "codegen/cuda/corpus.hpp"
#include "weft/codegen/cuda/api.hpp"
#include "weft/runtime/cuda/cubin.hpp"
#include "weft/runtime/cuda/driver.hpp"

namespace trial {

/// What the bench wants of the driver beside what weft calls.
struct more_of_driver {
  using event = struct CUevent_st*;
  int (*cuEventCreate)(event* made, unsigned flags) = nullptr;
  int (*cuEventRecord)(event e, weft::runtime::cuda_driver::stream on) = nullptr;
  int (*cuEventSynchronize)(event e) = nullptr;
  int (*cuEventElapsedTime)(float* ms, event from, event to) = nullptr;
  int (*cuMemcpyDtoDAsync_v2)(unsigned long long to, unsigned long long from, std::size_t bytes, weft::runtime::cuda_driver::stream on) = nullptr;
  int (*cuDeviceGetName)(char* name, int length, int device) = nullptr;
  /// What is missing; empty: nothing.
  std::string load() {
    char const* const named = std::getenv("WEFT_CUDA");
    void* const h = dlopen(named != nullptr ? named : "libcuda.so.1", RTLD_NOW);
    if (h == nullptr) return "no libcuda.so.1";
    auto const find = [&](char const* name, auto& f) {
      f = reinterpret_cast<std::remove_reference_t<decltype(f)>>(dlsym(h, name));
      return f == nullptr ? std::string("the driver has no ") + name : "";
    };
    for (std::string const& wrong : {find("cuEventCreate", cuEventCreate), find("cuEventRecord", cuEventRecord),
                                     find("cuEventSynchronize", cuEventSynchronize),
                                     find("cuEventElapsedTime_v2", cuEventElapsedTime).empty() ? std::string() : find("cuEventElapsedTime", cuEventElapsedTime),
                                     find("cuMemcpyDtoDAsync_v2", cuMemcpyDtoDAsync_v2), find("cuDeviceGetName", cuDeviceGetName)})
      if (!wrong.empty()) return wrong;
    return "";
  }
};

/// Memory on the device that goes with the value.
class device_memory {
 public:
  device_memory(weft::runtime::cuda_gpu const& g, std::size_t bytes) : g_(g) {
    g_.check(g_.driver->cuMemAlloc_v2(&at, bytes > 0 ? bytes : 1), "bench", "memory on the GPU");
  }
  device_memory(device_memory const&) = delete;
  device_memory& operator=(device_memory const&) = delete;
  ~device_memory() { g_.driver->cuMemFree_v2(at); }
  void fill(void const* from, std::size_t bytes, std::size_t offset = 0) {
    g_.check(g_.driver->cuMemcpyHtoDAsync_v2(at + offset, from, bytes, nullptr), "bench", "copying to the GPU");
    g_.check(g_.driver->cuStreamSynchronize(nullptr), "bench", "copying to the GPU");
  }
  void read(void* to, std::size_t bytes, std::size_t offset = 0) const {
    g_.check(g_.driver->cuMemcpyDtoHAsync_v2(to, at + offset, bytes, nullptr), "bench", "copying from the GPU");
    g_.check(g_.driver->cuStreamSynchronize(nullptr), "bench", "copying from the GPU");
  }
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(at);
  }
  unsigned long long at = 0;

 private:
  weft::runtime::cuda_gpu const& g_;
};

/// The NVRTC that calls use. Errors: device_error where there is none whose code the driver takes.
inline weft::nvrtc_api const* nvrtc() {
  std::string why;
  weft::nvrtc_api const* const found = weft::runtime::nvrtc_for_driver(&why);
  if (found == nullptr) throw weft::device_error(why);
  return found;
}

/// Loads texts and launches their kernels; what gpu_trial runs on.
class gpu_device {
 public:
  explicit gpu_device(weft::runtime::cuda_gpu const& g) : g_(g), here_(g) {}
  weft::runtime::cuda_gpu const& gpu() const { return g_; }
  /// Compiled together: one call of NVRTC for a whole corpus.
  void load(std::string const& text) {
    unload();
    std::string const cubin = weft::compile_cuda(text, g_.architecture, {}, nvrtc()).cubin;
    g_.check(g_.driver->cuLibraryLoadData(&library_, cubin.data(), nullptr, nullptr, 0, nullptr, nullptr, 0), "bench", "cuLibraryLoadData");
  }
  void unload() {
    if (library_ != nullptr) g_.driver->cuLibraryUnload(library_);
    library_ = nullptr;
  }
  ~gpu_device() { unload(); }
  gpu_device(gpu_device const&) = delete;
  gpu_device& operator=(gpu_device const&) = delete;

  /// A kernel of the text that was loaded.
  weft::runtime::cuda_driver::kernel entry(weft::cuda_kernel const& k) const {
    weft::runtime::cuda_driver::kernel found = nullptr;
    g_.check(g_.driver->cuLibraryGetKernel(&found, library_, k.name.c_str()), k.name, "cuLibraryGetKernel");
    g_.share_memory(found, k.shared_bytes, k.name);
    return found;
  }
  void launch(weft::cuda_kernel const& k, std::vector<unsigned long long> const& given) {
    launch(k, given, [](weft::ir::expr e) { return e->value; });
  }
  /// `value(e)`: what an expression over open sizes is at this call.
  template <class Value>
  void launch(weft::cuda_kernel const& k, std::vector<unsigned long long> given, Value const& value) {
    weft::runtime::cuda_driver::kernel const entry = this->entry(k);
    std::vector<void*> parameters;
    for (unsigned long long& p : given) parameters.push_back(&p);
    parameters.push_back(nullptr);  // the driver knows how many there are; one made for a test may not
    unsigned blocks[3], threads[3];
    for (int d = 0; d < 3; ++d) {
      blocks[d] = k.blocks[d] != nullptr ? static_cast<unsigned>(value(k.blocks[d])) : 1;
      threads[d] = static_cast<unsigned>(k.threads[d]);
    }
    g_.check(g_.driver->cuLaunchKernel(reinterpret_cast<weft::runtime::cuda_driver::function>(entry), blocks[0], blocks[1], blocks[2], threads[0],
                                       threads[1], threads[2], static_cast<unsigned>(k.shared_bytes), nullptr, parameters.data(), nullptr),
             k.name, "cuLaunchKernel");
  }
  /// All of a module's kernels on these tensors, there and back, fences included; `sizes`: what stays open.
  template <class Value>
  std::string run(weft::cuda_module const& module, weft::sequence<weft_test::gpu_memory*> const& memory, weft::sequence<std::int64_t> const& sizes,
                  std::size_t workspace_bytes, Value const& value) {
    std::vector<std::unique_ptr<device_memory>> there;
    std::vector<unsigned long long> pointers;
    for (weft_test::gpu_memory* m : memory) {
      there.push_back(std::make_unique<device_memory>(g_, m->bytes()));
      there.back()->fill(m->data(), m->bytes());
      pointers.push_back(there.back()->at);
    }
    device_memory workspace(g_, workspace_bytes);
    std::vector<unsigned char> const poison(workspace_bytes, 0xff);
    if (workspace_bytes > 0) workspace.fill(poison.data(), workspace_bytes);
    for (weft::cuda_kernel const& k : module.kernels) {
      std::vector<unsigned long long> given = pointers;
      for (std::int64_t s : sizes) given.push_back(static_cast<unsigned long long>(s));
      if (k.takes_workspace) given.push_back(workspace.at);
      launch(k, given, value);
    }
    for (std::size_t i = 0; i < there.size(); ++i) there[i]->read(memory[i]->data(), memory[i]->bytes());
    return "";
  }

 private:
  weft::runtime::cuda_gpu const& g_;
  weft::runtime::gpu_scope here_;
  weft::runtime::cuda_driver::library library_ = nullptr;
};

/// The time of a call on the default stream, in ms: the median of samples, each of as many calls as take 20 ms.
class gpu_clock {
 public:
  gpu_clock(weft::runtime::cuda_gpu const& g, more_of_driver const& d) : g_(g), d_(d) {
    for (more_of_driver::event* e : {&from_, &to_}) g_.check(d_.cuEventCreate(e, 0), "bench", "cuEventCreate");
  }
  template <class F>
  double operator()(F const& f) {
    return in_turns(f, [] {}).first;
  }
  /// Both, a sample of one and a sample of the other: what a product draws changes the clock for seconds.
  template <class F, class Other>
  std::pair<double, double> in_turns(F const& f, Other const& other) {
    int const times = calls_of(f), others = calls_of(other);
    std::vector<double> all, of_other;
    for (int i = 0; i < 7; ++i) all.push_back(sample(f, times)), of_other.push_back(sample(other, others));
    std::sort(all.begin(), all.end()), std::sort(of_other.begin(), of_other.end());
    return {all[3], of_other[3]};
  }

 private:
  template <class F>
  int calls_of(F const& f) {
    f();  // compiled, and memory touched
    double const once = sample(f, 1);
    return once > 20 ? 1 : static_cast<int>(20 / (once > 0.001 ? once : 0.001)) + 1;
  }
  template <class F>
  double sample(F const& f, int times) {
    d_.cuEventRecord(from_, nullptr);
    for (int i = 0; i < times; ++i) f();
    d_.cuEventRecord(to_, nullptr);
    g_.check(d_.cuEventSynchronize(to_), "bench", "waiting for kernels");
    float ms = 0;
    g_.check(d_.cuEventElapsedTime(&ms, from_, to_), "bench", "cuEventElapsedTime");
    return static_cast<double>(ms) / times;
  }
  weft::runtime::cuda_gpu const& g_;
  more_of_driver const& d_;
  more_of_driver::event from_ = nullptr, to_ = nullptr;
};

/// cuBLAS, where it is: loaded at run time.
struct cublas {
  using handle = struct cublasContext*;
  int (*cublasCreate_v2)(handle*) = nullptr;
  int (*cublasSgemm_v2)(handle, int, int, int, int, int, float const*, float const*, int, float const*, int, float const*, float*, int) = nullptr;
  int (*cublasGemmEx)(handle, int, int, int, int, int, void const*, void const*, int, int, void const*, int, int, void const*, void*, int, int, int, int) = nullptr;
  int (*cublasSetMathMode)(handle, int) = nullptr;
  handle made = nullptr;
  bool load() {
    for (char const* name : {"libcublas.so.13", "libcublas.so.12", "libcublas.so"})
      if (void* const h = dlopen(name, RTLD_NOW | RTLD_GLOBAL)) {
        cublasCreate_v2 = reinterpret_cast<decltype(cublasCreate_v2)>(dlsym(h, "cublasCreate_v2"));
        cublasSgemm_v2 = reinterpret_cast<decltype(cublasSgemm_v2)>(dlsym(h, "cublasSgemm_v2"));
        cublasGemmEx = reinterpret_cast<decltype(cublasGemmEx)>(dlsym(h, "cublasGemmEx"));
        cublasSetMathMode = reinterpret_cast<decltype(cublasSetMathMode)>(dlsym(h, "cublasSetMathMode"));
        return cublasCreate_v2 != nullptr && cublasSgemm_v2 != nullptr && cublasCreate_v2(&made) == 0;
      }
    return false;
  }
  /// f32 as it is, never tf32 (CUBLAS_PEDANTIC_MATH); or the default, with which narrow types are multiplied by tensor cores.
  void pedantic(bool wanted) const {
    if (cublasSetMathMode != nullptr) cublasSetMathMode(made, wanted ? 2 : 0);
  }
  /// Row-major C = A B of m x k and k x n: column-major, C' = B' A'. The result: 0, or cuBLAS's number of what went wrong.
  int product(float const* a, float const* b, float* c, int m, int n, int k) const {
    float const one = 1, zero = 0;
    return cublasSgemm_v2(made, 0, 0, n, m, k, &one, b, n, a, k, &zero, c, n);
  }
  /// The same of narrow operands (CUDA_R_16F, CUDA_R_16BF) into f32, added in f32 (CUBLAS_COMPUTE_32F).
  template <class T>
  int product(T const* a, T const* b, float* c, int m, int n, int k) const {
    int const type = weft::dtype_of<T> == weft::dtype::f16 ? 2 : 14;
    float const one = 1, zero = 0;
    return cublasGemmEx(made, 0, 0, n, m, k, &one, b, type, n, a, type, k, &zero, c, 0, n, 68, -1);
  }
};

}  // namespace trial
