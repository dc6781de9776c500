// The machine code of a text for a GPU of this machine.
#pragma once

#include <string>
#include <string_view>

#include "weft/codegen/cuda/api.hpp"
#include "weft/runtime/cuda/driver.hpp"

namespace weft::inline WEFT_ABI {
namespace runtime {

/// The NVRTC whose code the driver takes: the newest of its CUDA or of one before. Null: there is none, and `why`, where wanted, says what to
/// install. The driver is not started, so a process that forks may ask.
nvrtc_api const* nvrtc_for_driver(std::string* why = nullptr);

struct cubin {
  std::string code;
  bool from_disk = false;
};
/// From disk where it was made before, by this NVRTC, or, where there is none that the driver takes code of, by any other that it does;
/// else made by NVRTC, the newest that the driver takes code of. WEFT_LINEINFO=1: with the lines of the text (WEFT_DUMP=cuda shows it), for profilers;
/// the instructions are the same.
///
/// Errors  device_error, which names the kernel: no NVRTC, or one that is newer than the driver; as of compile_cuda
cubin cubin_of(std::string const& text, std::string_view kernel, cuda_gpu const& gpu);

}  // namespace runtime
}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/runtime/cuda/cubin.ipp"
#endif
