// expect: weft: this tensor has another rank: give one index per dimension
#include <weft/weft.hpp>

constexpr auto k = weft::kernel<"k">([](auto A) {
  return weft::compute<"C">(A.extent(0), [=](auto i) {
    return A(i);  // <- here
    return A(i, i);
  });
});
static_assert(weft::checked<k, weft::arg<float, 2>>);

int main() {}
