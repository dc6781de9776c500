// Tests of what NVRTC makes of a text.
#pragma once

#include <doctest/doctest.h>

#include "support/sanitized.hpp"
#include "weft/codegen/cuda/api.hpp"

namespace weft_test {

/// False: there is none, which is said; or sanitizers run, which see nothing of it, and are spared it.
inline bool nvrtc_is_asked() {
  if (is_sanitized) return false;
  if (weft::find_nvrtc() == nullptr) MESSAGE("[skip] no NVRTC on this machine: pip install 'nvidia-cuda-nvrtc-cu12>=12.8', its nvidia/cuda_nvrtc/lib on LD_LIBRARY_PATH");
  return weft::find_nvrtc() != nullptr;
}

}  // namespace weft_test
