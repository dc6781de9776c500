// Schedules by search on a GPU: candidates compiled by NVRTC, and timed by the events of CUDA. To be included beside weft/tune.hpp in
// one file of a program that tunes for a GPU and does not link weft::compiled.
#pragma once

#include "weft/cuda.hpp"
#include "weft/tune/gpu_bench.hpp"

#if WEFT_HEADER_ONLY
#include "weft/tune/cuda.ipp"
#endif
