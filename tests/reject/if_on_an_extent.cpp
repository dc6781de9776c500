// expect: weft: no size and no element has a value while a kernel is being described
#include <weft/weft.hpp>

constexpr auto k = weft::kernel<"k">([](auto A) {
  return weft::compute<"C">(A.extent(0), [=](auto i) {
    if (A.extent(0) > 4) return A(0);  // <- here
    return A(i);
  });
});
static_assert(weft::checked<k, weft::arg<float, 1>>);

int main() {}
