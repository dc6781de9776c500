// The OpenMP side of fork_join; compiled with -fopenmp where there is one.
#include "fork_join.hpp"

namespace bench {
#ifdef _OPENMP
bool openmp_loop(std::int64_t times, int threads, void (*body)(std::int64_t)) {
  while (times-- > 0) {
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int i = 0; i < 2; ++i) body(i);
  }
  return true;
}
#else
bool openmp_loop(std::int64_t, int, void (*)(std::int64_t)) { return false; }
#endif
}  // namespace bench
