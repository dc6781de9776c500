// Kernels on oneTBB's threads.
#include <oneapi/tbb/parallel_for.h>

#include "check.hpp"

int main() {
  weft::executor tbb;
  tbb.run = [](void*, int count, weft::executor::task task, void* data) {
    oneapi::tbb::parallel_for(0, count, [=](int i) { task(data, i); });
  };
  return weft_test::check("oneTBB", tbb,
                          [](auto const& once) { oneapi::tbb::parallel_for(0, 20, [&](int) { once(); }); });
}
