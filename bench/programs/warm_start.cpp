// A program of a user's that calls one kernel: what `warm_start` of weft-bench starts.
//
//     warm_start ANY    prints when main began and when the first result was there, in ns of CLOCK_MONOTONIC, and
//                       how many kernels were compiled
//     warm_start        calls nothing: what a process costs that only has weft in it
#include <time.h>

#include <cstdio>
#include <vector>

#include "../kernels.hpp"

namespace {
double now_ns() {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}
}  // namespace

int main(int argc, char**) {
  double const begun = now_ns();
  double done = begun;
  bool right = true;
  if (argc > 1) {
    std::size_t const n = 64;
    std::vector<float> a(n * n, 0.5f), b(n * n, 2.0f), c(n * n);
    bench::matmul_kernel(weft::view(a, n, n), weft::view(b, n, n), weft::out(c, n, n));
    done = now_ns();
    for (float x : c) right = right && x == static_cast<float>(n);
  }
  std::printf("%.0f %.0f %d\n", begun, done, static_cast<int>(weft::compilations()));
  return right ? 0 : 1;
}
