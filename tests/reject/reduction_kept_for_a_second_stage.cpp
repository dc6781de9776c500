// expect: weft: a stage uses an axis of another stage
#include <weft/weft.hpp>

constexpr auto k = weft::kernel<"k">([](auto A) {
  auto total = weft::sum(A.extent(0), [=](auto k) { return A(k); });
  auto B = weft::compute<"B">(2, [=](auto) { return total; });
  auto C = weft::compute<"C">(3, [=](auto) { return total; });
  return weft::outputs(B, C);
});
static_assert(weft::checked<k, weft::arg<float, 1>>);  // <- here

int main() {}
