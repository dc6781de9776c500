// expect: convolutions and poolings take a batch and channels, too
#include <weft/weft.hpp>

#include <weft/ops.hpp>

constexpr auto k = weft::kernel<"k">([](auto x, auto w) {
  [[maybe_unused]] auto y = weft::ops::conv2d(x, w);  // <- here
  return weft::ops::relu(x);
});
static_assert(weft::checked<k, weft::arg<float, 3>, weft::arg<float, 4>>);

int main() {}
