// The passes of a GPU, in order.
#pragma once

#include "weft/pass/pipeline.hpp"

namespace weft::inline WEFT_ABI {

/// Brings a lowered function into the form that codegen/cuda prints: a launch for each statement of the body, as
/// `spread_threads` makes them, with barriers, single values and accesses of up to 16 bytes.
///
/// Errors  schedule_error for what one launch cannot do
void run_gpu_passes(ir::function& f, pass_observer const& observe = {});

}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/pass/gpu.ipp"
#endif
