// expect: convolutions and poolings take a batch and channels, too
#include <weft/weft.hpp>

#include <weft/ops.hpp>

constexpr auto k = weft::kernel<"k">([](auto x) {
  [[maybe_unused]] auto y = weft::ops::max_pool2d(x, {.kernel = {2, 2}});  // <- here
  return weft::ops::relu(x);
});
static_assert(weft::checked<k, weft::arg<float, 2>>);

int main() {}
