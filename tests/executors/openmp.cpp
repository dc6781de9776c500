// Kernels on OpenMP's threads.
#include "check.hpp"

int main() {
  weft::executor openmp;
  openmp.run = [](void*, int count, weft::executor::task task, void* data) {
#pragma omp parallel for schedule(static, 1)
    for (int i = 0; i < count; ++i) task(data, i);
  };
  return weft_test::check("OpenMP", openmp, [](auto const& once) {
#pragma omp parallel for
    for (int i = 0; i < 20; ++i) once();
  });
}
