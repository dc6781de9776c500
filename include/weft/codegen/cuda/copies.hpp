// Asynchronous copies from the GPU's memory to a block's: the prelude functions for them.
#pragma once

#include "weft/codegen/cuda/prelude.hpp"

namespace weft::inline WEFT_ABI {
namespace cuda_text {

/// Copies 4, 8 or 16 bytes, at addresses that are multiples of as many; or_zero: those, or zeros where `there` does not hold.
///
///     static __device__ __forceinline__ void weft_copy_16(void* to, void const* from) {
///       asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" : : .. : "memory");
///     }
///
/// 16 bytes go past the first cache. GPUs before sm_80 have no such instruction: there the thread copies, and has no groups to
/// wait for. A text for the host calls the shim's.
/// Source  PTX ISA, cp.async
prelude_function copy_function(int bytes, bool or_zero);
/// What was copied since the last one is a group.
prelude_function commit_function();
/// Waits for all groups of the thread but the last `left`.
prelude_function wait_function(int left);

}  // namespace cuda_text
}  // namespace weft::inline WEFT_ABI
