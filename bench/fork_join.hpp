#pragma once

#include <cstdint>

namespace bench {

/// `times` parallel loops of two iterations on two threads; false when this was built without OpenMP.
bool openmp_loop(std::int64_t times, void (*body)(std::int64_t));

}  // namespace bench
