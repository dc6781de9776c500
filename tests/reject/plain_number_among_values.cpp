// expect: weft: weft::values holds values that depend on an input or an axis
#include <weft/weft.hpp>

constexpr auto k = weft::kernel<"k">([](auto A) {
  [[maybe_unused]] auto C = weft::compute<"B", "C">(A.extent(0), [=](auto i) { return weft::values(A(i), 1); });  // <- here
  return weft::compute<"E">(A.extent(0), [=](auto i) { return A(i); });
});
static_assert(weft::checked<k, weft::arg<float, 1>>);

int main() {}
