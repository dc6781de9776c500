// expect: weft: & | ^ << >> need integers
#include <weft/weft.hpp>

constexpr auto k = weft::kernel<"k">([](auto A) {
  return weft::compute<"B">(A.extent(0), [=](auto i) {
    return A(i) & A(i);  // <- here
    return A(i) * A(i);
  });
});
static_assert(weft::checked<k, weft::arg<float, 1>>);

int main() {}
