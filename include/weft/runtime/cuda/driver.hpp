// The CUDA driver: the functions that weft uses, loaded when first needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "weft/base/error.hpp"

namespace weft::inline WEFT_ABI {
namespace runtime {

/// The part of the driver that weft calls, as cuda.h of CUDA 12 and 13 declares it (under the names that its macros make);
/// a result other than 0 is an error. Handles are pointers to what nobody here looks into.
struct cuda_driver {
  using address = unsigned long long;
  using context = struct CUctx_st*;
  using stream = struct CUstream_st*;
  using library = struct CUlib_st*;
  using kernel = struct CUkern_st*;
  using function = struct CUfunc_st*;
  using event = struct CUevent_st*;
  using pool = struct CUmemPoolHandle_st*;
  int (*cuInit)(unsigned flags);
  int (*cuDriverGetVersion)(int* version);
  int (*cuGetErrorName)(int result, char const** name);
  int (*cuGetErrorString)(int result, char const** text);
  int (*cuDeviceGetCount)(int* count);
  int (*cuDeviceGet)(int* device, int number);
  int (*cuDeviceGetName)(char* name, int bytes, int device);
  int (*cuDeviceGetAttribute)(int* value, int attribute, int device);
  int (*cuDevicePrimaryCtxRetain)(context* made, int device);
  int (*cuCtxPushCurrent_v2)(context now);
  int (*cuCtxPopCurrent_v2)(context* before);
  int (*cuLibraryLoadData)(library* made, void const* code, int* jit_options, void** jit_values, unsigned jit_count,
                           int* options, void** values, unsigned count);
  int (*cuLibraryUnload)(library which);
  int (*cuLibraryGetKernel)(kernel* found, library in, char const* name);
  int (*cuKernelSetAttribute)(int attribute, int value, kernel of, int device);
  int (*cuLaunchKernel)(function what, unsigned blocks_x, unsigned blocks_y, unsigned blocks_z, unsigned threads_x,
                        unsigned threads_y, unsigned threads_z, unsigned shared_bytes, stream on, void** parameters,
                        void** extra);
  int (*cuMemAllocAsync)(address* made, std::size_t bytes, stream on);
  int (*cuMemFreeAsync)(address memory, stream on);
  int (*cuDeviceGetDefaultMemPool)(pool* found, int device);
  int (*cuMemPoolGetAttribute)(pool of, int attribute, void* value);
  int (*cuMemPoolSetAttribute)(pool of, int attribute, void* value);
  int (*cuMemAlloc_v2)(address* made, std::size_t bytes);
  int (*cuMemFree_v2)(address memory);
  int (*cuMemGetInfo_v2)(std::size_t* free, std::size_t* all);
  int (*cuMemcpyHtoDAsync_v2)(address to, void const* from, std::size_t bytes, stream on);
  int (*cuMemcpyDtoHAsync_v2)(void* to, address from, std::size_t bytes, stream on);
  int (*cuStreamSynchronize)(stream on);
  int (*cuStreamIsCapturing)(stream which, int* status);
  int (*cuEventCreate)(event* made, unsigned flags);
  int (*cuEventRecord)(event what, stream on);
  int (*cuEventSynchronize)(event what);
  int (*cuEventElapsedTime)(float* milliseconds, event begin, event end);
  int (*cuEventDestroy_v2)(event what);
};

/// Attributes of a device, and of a kernel, by their numbers in cuda.h.
enum class device_attribute : int { processors = 16, l2_bytes = 38, major = 75, minor = 76, shared_bytes = 97 };
/// Of a kernel: CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, in bytes, and CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, in per cent.
inline constexpr int most_dynamic_shared = 8, preferred_shared = 9;
/// Of a pool of memory: CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, in bytes.
inline constexpr int kept_by_pool = 4;
/// So much of what calls have had of a GPU's memory stays with the process for later ones. The driver's own choice is nothing: then each call that
/// needs memory for itself has it mapped anew where the stream was waited for since the one before.
inline constexpr std::int64_t kept_for_calls = std::int64_t(256) << 20;

/// The driver, loaded by the first call: what WEFT_CUDA names, else libcuda.so.1. Null, with the reason in `why`, when there
/// is none, or it lacks one of these functions.
/// Threads  may be called from several at once
cuda_driver const* find_cuda_driver(std::string* why = nullptr);
/// The CUDA that the driver is of, as 13020 for 13.2; 0: there is no driver. It is not started.
int cuda_driver_version();

/// What a result means: "out of memory (CUDA_ERROR_OUT_OF_MEMORY)", and behind it, in a line that begins with `try`, what to do about it
/// where that is known.
std::string said_by(cuda_driver const& driver, int result);

/// Whether weft has begun to use the driver in this process: a fork cannot use a GPU from then on.
bool cuda_has_begun();

/// Which GPU it is, without a context.
struct gpu_identity {
  std::string name;          // "NVIDIA H100 80GB HBM3"
  std::string architecture;  // "sm_90"
  std::int64_t processors = 0, shared_bytes = 0, l2_bytes = 0;  // shared_bytes: of a block, at most
};
/// The GPU of this number. Errors: device_error, in words, when there is no driver, or no such device.
gpu_identity identify_gpu(int number);

/// Its architecture; empty where there is no driver, or no such device.
std::string architecture_if_there(int number);

/// One GPU of this machine, with its primary context, which CUDA's runtime and PyTorch use too.
struct cuda_gpu {
  cuda_driver const* driver = nullptr;
  cuda_driver::context context = nullptr;
  int device = 0;
  std::string architecture;  // "sm_90"
  std::int64_t shared_bytes = 0;  // of a block, at most

  /// Throws a device_error unless the result of `what` is 0: "saxpy: cuLaunchKernel: out of memory (CUDA_ERROR_OUT_OF_MEMORY)".
  void check(int result, std::string_view name, char const* what) const;
  /// The same of memory: "saxpy: memory for 1024 bytes, where 3 of 81559 MiB are free: out of memory (CUDA_ERROR_OUT_OF_MEMORY)".
  ///
  /// Needs   a gpu_scope
  void check_memory(int result, std::string_view name, std::int64_t bytes) const;
  /// Lets blocks of a kernel share so many bytes each. More than 48 KiB have to be asked for; of the memory that shared bytes and the first cache
  /// have together the cache gets the least then, so that there is room for as many blocks as fit.
  void share_memory(cuda_driver::kernel of, std::int64_t bytes, std::string_view name) const;
  /// As said_by.
  std::string said_of(int result) const { return said_by(*driver, result); }
};
/// The GPU of this number, opened once. Errors: device_error, in words, when there is no driver, or no such device.
cuda_gpu const& open_gpu(int number);

/// Its context is this thread's, for as long as the object lives.
class gpu_scope {
 public:
  /// Makes the context of `g` this thread's. Errors: device_error
  explicit gpu_scope(cuda_gpu const& g) : gpu_(g) { g.check(g.driver->cuCtxPushCurrent_v2(g.context), "weft", "cuCtxPushCurrent"); }
  gpu_scope(gpu_scope const&) = delete;
  gpu_scope& operator=(gpu_scope const&) = delete;
  ~gpu_scope() {
    cuda_driver::context before = nullptr;
    gpu_.driver->cuCtxPopCurrent_v2(&before);
  }

 private:
  cuda_gpu const& gpu_;
};
/// The same for what gives something back, which throws nothing: in the child of a fork, and where the driver has ended, there is no context, and nothing
/// that could be given back.
class gpu_scope_if_there {
 public:
  explicit gpu_scope_if_there(cuda_gpu const& g) noexcept : gpu_(g), there_(g.driver->cuCtxPushCurrent_v2(g.context) == 0) {}
  gpu_scope_if_there(gpu_scope_if_there const&) = delete;
  gpu_scope_if_there& operator=(gpu_scope_if_there const&) = delete;
  ~gpu_scope_if_there() {
    cuda_driver::context before = nullptr;
    if (there_) gpu_.driver->cuCtxPopCurrent_v2(&before);
  }
  explicit operator bool() const { return there_; }

 private:
  cuda_gpu const& gpu_;
  bool there_;
};

}  // namespace runtime
}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/runtime/cuda/driver.ipp"
#endif
