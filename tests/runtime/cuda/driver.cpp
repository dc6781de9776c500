#include "weft/runtime/cuda/driver.hpp"
#include "weft/runtime/cuda/events.hpp"

#include <doctest/doctest.h>

#include <type_traits>

// CUDA 13 has another function by this name; libcuda has both.
using elapsed_time = decltype(weft::runtime::cuda_driver::cuEventElapsedTime);

#if __has_include(<cuda.h>)
#include <cuda.h>
#define WEFT_TEST_HAS_CUDA_HEADER 1
#elif __has_include("/usr/local/cuda/include/cuda.h")
#include "/usr/local/cuda/include/cuda.h"
#define WEFT_TEST_HAS_CUDA_HEADER 1
#else
#define WEFT_TEST_HAS_CUDA_HEADER 0
#endif

using weft::runtime::cuda_driver;

#if WEFT_TEST_HAS_CUDA_HEADER
namespace {
// Enumerations count as their integer, and the driver's handles as ours.
template <class T, class = void>
struct plain {
  using type = T;
};
template <class T>
struct plain<T, std::enable_if_t<std::is_enum_v<T>>> {
  static_assert(sizeof(T) == sizeof(int));
  using type = int;
};
template <class T>
struct plain<T*, std::enable_if_t<std::is_enum_v<T> || !std::is_same_v<typename plain<T>::type, T>>> {
  using type = typename plain<T>::type*;
};
#define WEFT_TEST_HANDLE(theirs, ours) \
  template <>                          \
  struct plain<theirs> {               \
    using type = cuda_driver::ours;    \
  };
WEFT_TEST_HANDLE(CUcontext, context)
WEFT_TEST_HANDLE(CUstream, stream)
WEFT_TEST_HANDLE(CUlibrary, library)
WEFT_TEST_HANDLE(CUkernel, kernel)
WEFT_TEST_HANDLE(CUfunction, function)
WEFT_TEST_HANDLE(CUevent, event)
WEFT_TEST_HANDLE(CUmemoryPool, pool)
template <class R, class... Args>
struct plain<R (*)(Args...)> {
  using type = typename plain<R>::type (*)(typename plain<Args>::type...);
};
#define WEFT_TEST_SIGNATURE(name) \
  static_assert(std::is_same_v<decltype(cuda_driver::name), typename plain<decltype(&::name)>::type>);
WEFT_TEST_SIGNATURE(cuInit)
WEFT_TEST_SIGNATURE(cuDriverGetVersion)
WEFT_TEST_SIGNATURE(cuGetErrorName)
WEFT_TEST_SIGNATURE(cuGetErrorString)
WEFT_TEST_SIGNATURE(cuDeviceGetCount)
WEFT_TEST_SIGNATURE(cuDeviceGet)
WEFT_TEST_SIGNATURE(cuDeviceGetAttribute)
WEFT_TEST_SIGNATURE(cuDevicePrimaryCtxRetain)
WEFT_TEST_SIGNATURE(cuCtxPushCurrent_v2)
WEFT_TEST_SIGNATURE(cuCtxPopCurrent_v2)
WEFT_TEST_SIGNATURE(cuLibraryLoadData)
WEFT_TEST_SIGNATURE(cuLibraryUnload)
WEFT_TEST_SIGNATURE(cuLibraryGetKernel)
WEFT_TEST_SIGNATURE(cuKernelSetAttribute)
WEFT_TEST_SIGNATURE(cuLaunchKernel)
WEFT_TEST_SIGNATURE(cuMemAllocAsync)
WEFT_TEST_SIGNATURE(cuMemFreeAsync)
WEFT_TEST_SIGNATURE(cuDeviceGetDefaultMemPool)
WEFT_TEST_SIGNATURE(cuMemPoolGetAttribute)
WEFT_TEST_SIGNATURE(cuMemPoolSetAttribute)
WEFT_TEST_SIGNATURE(cuMemAlloc_v2)
WEFT_TEST_SIGNATURE(cuMemFree_v2)
WEFT_TEST_SIGNATURE(cuMemGetInfo_v2)
WEFT_TEST_SIGNATURE(cuMemcpyHtoDAsync_v2)
WEFT_TEST_SIGNATURE(cuMemcpyDtoHAsync_v2)
WEFT_TEST_SIGNATURE(cuStreamSynchronize)
WEFT_TEST_SIGNATURE(cuStreamIsCapturing)
WEFT_TEST_SIGNATURE(cuDeviceGetName)
WEFT_TEST_SIGNATURE(cuEventCreate)
WEFT_TEST_SIGNATURE(cuEventRecord)
WEFT_TEST_SIGNATURE(cuEventSynchronize)
WEFT_TEST_SIGNATURE(cuEventDestroy_v2)
static_assert(std::is_same_v<elapsed_time, typename plain<decltype(&::cuEventElapsedTime)>::type>);
static_assert(static_cast<int>(weft::runtime::device_attribute::processors) == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
static_assert(static_cast<int>(weft::runtime::device_attribute::l2_bytes) == CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
static_assert(static_cast<int>(weft::runtime::device_attribute::major) == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
static_assert(static_cast<int>(weft::runtime::device_attribute::minor) == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
static_assert(static_cast<int>(weft::runtime::device_attribute::shared_bytes) ==
              CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
static_assert(weft::runtime::most_dynamic_shared == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
static_assert(weft::runtime::preferred_shared == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT);
static_assert(weft::runtime::kept_by_pool == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD);
static_assert(CUDA_SUCCESS == 0);
// What way_out_of knows them by.
static_assert(CUDA_ERROR_OUT_OF_MEMORY == 2 && CUDA_ERROR_NOT_INITIALIZED == 3 && CUDA_ERROR_STUB_LIBRARY == 34 && CUDA_ERROR_DEVICE_UNAVAILABLE == 46 &&
              CUDA_ERROR_NO_DEVICE == 100 && CUDA_ERROR_INVALID_CONTEXT == 201 && CUDA_ERROR_INVALID_HANDLE == 400 && CUDA_ERROR_ILLEGAL_ADDRESS == 700 &&
              CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES == 701 && CUDA_ERROR_LAUNCH_TIMEOUT == 702 && CUDA_ERROR_HARDWARE_STACK_ERROR == 714 &&
              CUDA_ERROR_ILLEGAL_INSTRUCTION == 715 && CUDA_ERROR_MISALIGNED_ADDRESS == 716 && CUDA_ERROR_INVALID_ADDRESS_SPACE == 717 &&
              CUDA_ERROR_INVALID_PC == 718 && CUDA_ERROR_LAUNCH_FAILED == 719 && CUDA_ERROR_NOT_SUPPORTED == 801 && CUDA_ERROR_SYSTEM_NOT_READY == 802 &&
              CUDA_ERROR_SYSTEM_DRIVER_MISMATCH == 803 && CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE == 804 && CUDA_ERROR_UNKNOWN == 999);
}  // namespace
#endif

TEST_CASE("the driver's header, where there is one, declares what we declare") {
#if WEFT_TEST_HAS_CUDA_HEADER
  CHECK(std::is_same_v<plain<decltype(&::cuLaunchKernel)>::type, decltype(cuda_driver::cuLaunchKernel)>);
#else
  MESSAGE("[skip] no cuda.h on this machine");
#endif
}
TEST_CASE("a driver that is not there has a reason in words") {
  std::string why;
  cuda_driver const* const d = weft::runtime::find_cuda_driver(&why);
  CHECK((d == nullptr) == !why.empty());
  if (d == nullptr) CHECK_THROWS_AS(weft::runtime::open_gpu(0), weft::device_error);
}
TEST_CASE("where the second of two events cannot be made, the first is destroyed") {
  static int made = 0, destroyed = 0;
  cuda_driver d{};
  d.cuEventCreate = [](cuda_driver::event* e, unsigned) {
    if (++made > 1) return 2;
    *e = reinterpret_cast<cuda_driver::event>(&made);
    return 0;
  };
  d.cuEventDestroy_v2 = [](cuda_driver::event e) { return destroyed += e == reinterpret_cast<cuda_driver::event>(&made), 0; };
  d.cuGetErrorName = [](int, char const** name) { return *name = "CUDA_ERROR_OUT_OF_MEMORY", 0; };
  d.cuGetErrorString = [](int, char const** text) { return *text = "out of memory", 0; };
  weft::runtime::cuda_gpu gpu;
  gpu.driver = &d;
  CHECK_THROWS_WITH_AS(weft::runtime::cuda_events{gpu}, doctest::Contains("cuEventCreate"), weft::device_error);
  CHECK(made == 2);
  CHECK(destroyed == 1);
}
