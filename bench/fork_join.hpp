#pragma once

#include <cstdint>

namespace bench {

/// `times` parallel loops of two iterations on one thread or two; false when this was built without OpenMP, without oneTBB.
bool openmp_loop(std::int64_t times, int threads, void (*body)(std::int64_t));
bool tbb_loop(std::int64_t times, int threads, void (*body)(std::int64_t));

}  // namespace bench
