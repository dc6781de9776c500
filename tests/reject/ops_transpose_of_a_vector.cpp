// expect: weft::ops::transpose: a matrix has two dimensions or more
#include <weft/weft.hpp>

#include <weft/ops.hpp>

constexpr auto k = weft::kernel<"k">([](auto x) {
  [[maybe_unused]] auto y = weft::ops::transpose(x);  // <- here
  return weft::ops::relu(x);
});
static_assert(weft::checked<k, weft::arg<float, 1>>);

int main() {}
