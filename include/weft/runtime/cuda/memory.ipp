#include "weft/base/joined.hpp"
#include "weft/runtime/cuda/memory.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

WEFT_DECL void* allocate_on_gpu(int device, std::int64_t const* shape, int rank, int element_bytes) {
  std::int64_t bytes = element_bytes;
  for (int d = 0; d < rank; ++d)
    if (shape[d] < 0 || __builtin_mul_overflow(bytes, shape[d], &bytes))
      WEFT_THROW(argument_error("weft::cuda_tensor: a negative extent, or more elements than memory can have"));
  runtime::cuda_gpu const& gpu = runtime::open_gpu(device);
  runtime::gpu_scope const here(gpu);
  runtime::cuda_driver::address a = 0;
  gpu.check_memory(gpu.driver->cuMemAlloc_v2(&a, static_cast<std::size_t>(bytes > 0 ? bytes : 1)), "weft::cuda_tensor", bytes);
  return reinterpret_cast<void*>(a);
}
WEFT_DECL void free_on_gpu(int device, void* memory) noexcept {
  runtime::cuda_gpu const& gpu = runtime::open_gpu(device);
  if (runtime::gpu_scope_if_there const here(gpu); here) gpu.driver->cuMemFree_v2(reinterpret_cast<runtime::cuda_driver::address>(memory));
}
WEFT_DECL void copy_with_gpu(int device, void* on_gpu, void* on_host, std::size_t bytes, bool to_gpu) {
  runtime::cuda_gpu const& gpu = runtime::open_gpu(device);
  runtime::gpu_scope const here(gpu);
  auto const there = reinterpret_cast<runtime::cuda_driver::address>(on_gpu);
  int const result = to_gpu ? gpu.driver->cuMemcpyHtoDAsync_v2(there, on_host, bytes, nullptr)
                            : gpu.driver->cuMemcpyDtoHAsync_v2(on_host, there, bytes, nullptr);
  gpu.check(result, "weft::cuda_tensor", "copying");
  gpu.check(gpu.driver->cuStreamSynchronize(nullptr), "weft::cuda_tensor", "copying");
}

}  // namespace detail
}  // namespace weft::inline WEFT_ABI
