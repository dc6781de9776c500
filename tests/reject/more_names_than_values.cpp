// expect: weft: this compute has more names than its body has values
#include <weft/weft.hpp>

constexpr auto k = weft::kernel<"k">([](auto A) {
  [[maybe_unused]] auto C = weft::compute<"B", "C", "D">(A.extent(0), [=](auto i) { return weft::values(A(i), i); });  // <- here
  return weft::compute<"E">(A.extent(0), [=](auto i) { return A(i); });
});
static_assert(weft::checked<k, weft::arg<float, 1>>);

int main() {}
