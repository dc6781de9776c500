// A program with kernels of weft's and of nvcc's: weft stands in this file, CUDA C++ in the other.
#include <cstdio>
#include <vector>
#include <weft/weft.hpp>

bool double_on_device(float* x, int n);

inline constexpr auto successor = weft::kernel<"successor">(
    [](auto x) { return weft::compute<"y">(x.extent(0), [=](auto i) { return x(i) + 1.0f; }); });

int main() {
  std::vector<float> x(1000, 1.5f), y(1000);
  successor(x, weft::out(y));
  bool const doubled = double_on_device(y.data(), 1000);
  for (float v : y)
    if (v != (doubled ? 5.0f : 2.5f)) return 1;
  std::puts(doubled ? "right, on a GPU, too" : "right");
}
