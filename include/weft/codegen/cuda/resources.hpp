// What a kernel takes of a GPU: registers, shared memory, spills, and how much of a processor it keeps busy.
#pragma once

#include <string>

#include "weft/base/sequence.hpp"
#include "weft/codegen/cuda/api.hpp"
#include "weft/codegen/cuda/module.hpp"

namespace weft::inline WEFT_ABI {

/// What one kernel takes on one architecture, as ptxas says and CUDA's programming guide counts.
struct cuda_usage {
  std::string kernel, architecture;
  std::int32_t threads = 0, registers = 0;  // of a block; of a thread
  std::int64_t shared_bytes = 0;            // of a block
  std::int32_t stack_bytes = 0, spill_stores = 0, spill_loads = 0;  // of a thread, in bytes
  std::int32_t blocks = 0;     // that a processor has at the same time; 0: not known, or none fits
  std::int32_t occupancy = 0;  // warps of them, per cent of the most
  std::string limit;           // what there would have to be more of: "threads", "registers", "shared memory", "blocks"
};

/// Compiles a text and reads what its compiler says of each kernel. There need be no GPU. `by`: which NVRTC; null: the newest.
///
/// Errors  device_error: no NVRTC on this machine, or it does not know the architecture; internal_error: the text has an error
/// Cost    that of compile_cuda
/// Source  CUDA C++ Programming Guide, "Technical Specifications per Compute Capability"
sequence<cuda_usage> usage_of(cuda_module const& module, std::string const& architecture, nvrtc_api const* by = nullptr);
/// The same of what the compiler has said of the text, told "--ptxas-options=-v".
sequence<cuda_usage> usage_in(std::string const& log, cuda_module const& module, std::string const& architecture);

/// As a table, a line for each.
///
///     kernel          arch    threads  registers  shared  stack  spills  blocks  occupancy
///     product_kernel  sm_80       256        127   16640      0       0       2       25 %  registers
std::string print_usage(sequence<cuda_usage> const& all);

/// sm_80, sm_86, sm_89, sm_90, sm_100 and sm_120, as far as this machine's newest NVRTC, or `by`, knows them. Empty without NVRTC.
sequence<std::string> known_architectures(nvrtc_api const* by = nullptr);

}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/codegen/cuda/resources.ipp"
#endif
