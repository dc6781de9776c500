// expect: weft: a what-lambda returns stages that it made, each once
#include <weft/weft.hpp>

constexpr auto k = weft::kernel<"k">([](auto A) {
  auto B = weft::compute<"B">(A.extent(0), [=](auto i) { return A(i) + 1; });
  return weft::outputs(B, B);
});
static_assert(weft::checked<k, weft::arg<float, 1>>);  // <- here

int main() {}
