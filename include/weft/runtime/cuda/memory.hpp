// Memory on a GPU that outlives a call.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/runtime/cuda/driver.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

/// Errors  argument_error: a negative extent, or too many elements; device_error: no such device, or not so much memory
void* allocate_on_gpu(int device, std::int64_t const* shape, int rank, int element_bytes);
void free_on_gpu(int device, void* memory) noexcept;
/// On the default stream, and waits for it.
void copy_with_gpu(int device, void* on_gpu, void* on_host, std::size_t bytes, bool to_gpu);

}  // namespace detail
}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/runtime/cuda/memory.ipp"
#endif
