#include <dlfcn.h>

#include "weft/base/env.hpp"
#include "weft/base/joined.hpp"
#include "weft/base/mutex.hpp"
#include "weft/runtime/cuda/driver.hpp"

namespace weft::inline WEFT_ABI {
namespace runtime {
namespace detail {

inline bool driver_has_begun = false;
inline char const* driver_file() {
  char const* const named = environment("WEFT_CUDA");
  return named != nullptr ? named : "libcuda.so.1";
}
/// What a user can do about a result of the driver's; empty: what it says has to do.
///
/// Source  cuda.h, CUresult
constexpr std::string_view way_out_of(int result) {
  switch (result) {
    case 2: return "smaller tensors, or freeing what is there: nvidia-smi shows which process has how much";
    case 3: return "beginning CUDA in the child: a process that was forked behind its parent's first use of a GPU cannot use one";
    case 34: return "taking the CUDA toolkit's folder stubs off LD_LIBRARY_PATH: its libcuda.so.1 is for linking alone, the driver has the real one";
    case 46: return "another GPU: this one is busy, or another process has it for itself alone (nvidia-smi shows its compute mode)";
    case 100: return "nvidia-smi, which shows the GPUs of this machine; an empty CUDA_VISIBLE_DEVICES hides them, and so does a container without --gpus";
    case 201:
    case 400: return "weft::cuda(number, stream) of a stream that was made for that GPU, and is still there";
    case 700:
    case 714:
    case 715:
    case 716:
    case 717:
    case 718:
    case 719:
      return "finding the kernel by CUDA_LAUNCH_BLOCKING=1, or compute-sanitizer: it is this one, or any other that was launched before; weft::on_gpu takes "
             "addresses and extents as they are given. This process can use the GPU no more";
    case 701: return "fewer threads in a block, or smaller tiles: a block wants more registers than a processor has";
    case 702: return "less work for a launch, or a GPU that shows no screen, as one that does ends what takes seconds";
    case 801: return "another GPU or driver: weft takes memory in the order of a stream, and loads code as a library, which some virtual GPUs have not";
    case 802: return "starting what is missing: on machines with NVSwitch the service nvidia-fabricmanager";
    case 803: return "starting the machine anew: the driver's kernel module and libcuda.so.1 are of different versions";
    case 804: return "taking cuda-compat off LD_LIBRARY_PATH: this GPU takes no newer libcuda.so.1 than its driver's own";
    case 999: return "nvidia-smi: where that fails, too, the driver's kernel module is not loaded, or not well";
    default: return {};
  }
}
struct loaded_driver {
  cuda_driver api{};
  std::string why;  // empty: it is there
  loaded_driver() {
    char const* const file = driver_file();
    void* const h = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (h == nullptr) {
      why = joined({"there is no CUDA driver (", file, "): install NVIDIA's, or compute on the CPU"});
      return;
    }
#define WEFT_X(name) find(h, #name, api.name);
    WEFT_X(cuInit) WEFT_X(cuDriverGetVersion) WEFT_X(cuGetErrorName) WEFT_X(cuGetErrorString) WEFT_X(cuDeviceGetCount)
    WEFT_X(cuDeviceGet) WEFT_X(cuDeviceGetName) WEFT_X(cuDeviceGetAttribute) WEFT_X(cuDevicePrimaryCtxRetain) WEFT_X(cuCtxPushCurrent_v2)
    WEFT_X(cuCtxPopCurrent_v2) WEFT_X(cuLibraryLoadData) WEFT_X(cuLibraryUnload) WEFT_X(cuLibraryGetKernel)
    WEFT_X(cuDeviceGetDefaultMemPool) WEFT_X(cuMemPoolGetAttribute) WEFT_X(cuMemPoolSetAttribute)
    WEFT_X(cuKernelSetAttribute) WEFT_X(cuLaunchKernel) WEFT_X(cuMemAllocAsync) WEFT_X(cuMemFreeAsync) WEFT_X(cuMemAlloc_v2)
    WEFT_X(cuMemFree_v2) WEFT_X(cuMemGetInfo_v2) WEFT_X(cuMemcpyHtoDAsync_v2) WEFT_X(cuMemcpyDtoHAsync_v2) WEFT_X(cuStreamSynchronize)
    WEFT_X(cuStreamIsCapturing) WEFT_X(cuEventCreate) WEFT_X(cuEventRecord) WEFT_X(cuEventSynchronize) WEFT_X(cuEventElapsedTime)
    WEFT_X(cuEventDestroy_v2)
#undef WEFT_X
    if (!why.empty()) why += ": it is older than CUDA 12; install a newer one";
    else if (int const r = api.cuInit(0); driver_has_begun = true, r != 0) why = joined({"the CUDA driver does not start: ", said_by(api, r)});
  }
  template <class F>
  void find(void* library, char const* name, F& function) {
    function = reinterpret_cast<F>(dlsym(library, name));
    if (function == nullptr && why.empty()) why = joined({"the CUDA driver lacks ", name});
  }
};
/// Those that were opened, one behind the other.
struct opened_gpu {
  cuda_gpu gpu;
  int number = 0;
  opened_gpu* next = nullptr;
};
struct opened_gpus {
  mutex lock;
  opened_gpu* first = nullptr;
};
inline opened_gpus& all_gpus() {
  static opened_gpus all;
  return all;
}
/// The device, without a context.
inline void find_device(cuda_gpu& g, int number) {
  std::string why;
  g.driver = find_cuda_driver(&why);
  if (g.driver == nullptr) WEFT_THROW(device_error(why));
  int count = 0;
  g.check(g.driver->cuDeviceGetCount(&count), "weft", "cuDeviceGetCount");
  if (number < 0 || number >= count)
    WEFT_THROW(device_error(joined({"there is no CUDA device ", std::to_string(number), ": this machine has ", std::to_string(count),
                                    ", numbered from 0; CUDA_VISIBLE_DEVICES may hide others"})));
  g.check(g.driver->cuDeviceGet(&g.device, number), "weft", "cuDeviceGet");
}
inline int asked(cuda_gpu const& g, device_attribute a) {
  int value = 0;
  g.check(g.driver->cuDeviceGetAttribute(&value, static_cast<int>(a), g.device), "weft", "cuDeviceGetAttribute");
  return value;
}
inline std::string architecture_of(cuda_gpu const& g) {
  return "sm_" + std::to_string(10 * asked(g, device_attribute::major) + asked(g, device_attribute::minor));
}
/// Of what `cuMemFreeAsync` is given back. A limit that someone else has set stays; a GPU without such pools says so at the first allocation.
inline void keep_memory(cuda_gpu const& g) {
  cuda_driver::pool pool = nullptr;
  std::uint64_t kept = 0;
  if (g.driver->cuDeviceGetDefaultMemPool(&pool, g.device) != 0 || g.driver->cuMemPoolGetAttribute(pool, kept_by_pool, &kept) != 0 || kept != 0) return;
  kept = static_cast<std::uint64_t>(kept_for_calls);
  g.driver->cuMemPoolSetAttribute(pool, kept_by_pool, &kept);
}
inline void open_as(cuda_gpu& g, int number) {
  find_device(g, number);
  g.architecture = architecture_of(g);
  g.shared_bytes = asked(g, device_attribute::shared_bytes);
  g.check(g.driver->cuDevicePrimaryCtxRetain(&g.context, g.device), "weft", "cuDevicePrimaryCtxRetain");
  keep_memory(g);
}
}  // namespace detail

WEFT_DECL cuda_driver const* find_cuda_driver(std::string* why) {
  static detail::loaded_driver const driver;
  if (why != nullptr) *why = driver.why;
  return driver.why.empty() ? &driver.api : nullptr;
}
WEFT_DECL int cuda_driver_version() {
  static int const version = [] {
    int v = 0;
    void* const h = dlopen(detail::driver_file(), RTLD_NOW | RTLD_LOCAL);
    auto const ask = h == nullptr ? nullptr : reinterpret_cast<decltype(cuda_driver::cuDriverGetVersion)>(dlsym(h, "cuDriverGetVersion"));
    return ask != nullptr && ask(&v) == 0 ? v : 0;
  }();
  return version;
}
WEFT_DECL bool cuda_has_begun() { return detail::driver_has_begun; }
WEFT_DECL gpu_identity identify_gpu(int number) {
  cuda_gpu g;
  detail::find_device(g, number);
  char name[256] = {};
  g.check(g.driver->cuDeviceGetName(name, static_cast<int>(sizeof name) - 1, g.device), "weft", "cuDeviceGetName");
  return {name, detail::architecture_of(g), detail::asked(g, device_attribute::processors), detail::asked(g, device_attribute::shared_bytes),
          detail::asked(g, device_attribute::l2_bytes)};
}
WEFT_DECL std::string architecture_if_there(int number) {
  cuda_driver const* const d = find_cuda_driver(nullptr);
  int devices = 0;
  if (d == nullptr || d->cuDeviceGetCount(&devices) != 0 || number < 0 || number >= devices) return {};
  cuda_gpu g;
  detail::find_device(g, number);
  return detail::architecture_of(g);
}
WEFT_DECL std::string said_by(cuda_driver const& driver, int result) {
  char const *text = nullptr, *code = nullptr;
  driver.cuGetErrorString(result, &text);
  driver.cuGetErrorName(result, &code);
  std::string_view const way_out = detail::way_out_of(result);
  return joined({text != nullptr ? text : "unknown error", " (", code != nullptr ? code : std::to_string(result).c_str(), ")", way_out.empty() ? "" : "\n  try   ", way_out});
}
WEFT_DECL void cuda_gpu::check(int result, std::string_view name, char const* what) const {
  if (result != 0) WEFT_THROW(device_error(joined({name, ": ", what, ": ", said_of(result)})));
}
WEFT_DECL void cuda_gpu::check_memory(int result, std::string_view name, std::int64_t bytes) const {
  if (result == 0) return;
  std::size_t free = 0, all = 0;
  std::string there;
  if (driver->cuMemGetInfo_v2(&free, &all) == 0) there = joined({", where ", std::to_string(free >> 20), " of ", std::to_string(all >> 20), " MiB are free"});
  WEFT_THROW(device_error(joined({name, ": memory for ", std::to_string(bytes), " bytes", there, ": ", said_of(result)})));
}
WEFT_DECL void cuda_gpu::share_memory(cuda_driver::kernel of, std::int64_t bytes, std::string_view name) const {
  if (bytes <= 48 * 1024) return;
  check(driver->cuKernelSetAttribute(most_dynamic_shared, static_cast<int>(bytes), of, device), name, "cuKernelSetAttribute");
  driver->cuKernelSetAttribute(preferred_shared, 100, of, device);  // a wish
}
WEFT_DECL cuda_gpu const& open_gpu(int number) {
  detail::opened_gpus& all = detail::all_gpus();
  for (detail::opened_gpu* g = __atomic_load_n(&all.first, __ATOMIC_ACQUIRE); g != nullptr; g = g->next)
    if (g->number == number) return g->gpu;
  guard const hold(all.lock);
  for (detail::opened_gpu* g = all.first; g != nullptr; g = g->next)
    if (g->number == number) return g->gpu;
  cuda_gpu made;
  detail::open_as(made, number);
  auto* const g = new detail::opened_gpu{made, number, all.first};
  __atomic_store_n(&all.first, g, __ATOMIC_RELEASE);
  return g->gpu;
}

}  // namespace runtime
}  // namespace weft::inline WEFT_ABI
