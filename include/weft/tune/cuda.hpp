// Schedules by search on a GPU: candidates compiled by NVRTC, and timed by the events of CUDA. Optional: what does not include it, and
// does not link weft::compiled, tunes for CPUs alone.
#pragma once

#include "weft/cuda.hpp"
#include "weft/tune.hpp"
#include "weft/tune/gpu_bench.hpp"

#if WEFT_HEADER_ONLY
#include "weft/tune/cuda.ipp"
#endif
