#include <weft/weft.hpp>

#include <weft/cuda.hpp>

#include <cstdio>
#include <vector>

inline constexpr auto softplus = weft::kernel<"softplus">([](auto x, auto y) {
  return weft::compute<"z">(x.extent(0), x.extent(1), [=](auto i, auto j) { return weft::log(1.0f + weft::exp(x(i, j))) + y(i, j); });
});

int main() {
  std::vector<float> x(100 * 300, 0.0f), y(100 * 300, 1.0f), z(100 * 300);
  try {
    auto const gpu = softplus.on(weft::cuda());
    gpu(weft::view(x, 100, 300), weft::view(y, 100, 300), weft::out(z, 100, 300));  // compiled here, once; there, and back
    std::printf("%.3f\n", static_cast<double>(z[0]));
  } catch (weft::device_error const& e) {  // no driver, no GPU, no NVRTC
    std::puts(e.what());
    return 3;
  }
}
