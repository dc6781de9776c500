// expect: weft: a number with a fraction meets an integer tensor
#include <weft/weft.hpp>

constexpr auto k = weft::kernel<"k">([](auto A) {
  return weft::compute<"B">(A.extent(0), [=](auto i) {
    return weft::constant_exterior(A, 0.5)(i - 1);  // <- here
    return weft::constant_exterior(A, 5)(i - 1);
  });
});
static_assert(weft::checked<k, weft::arg<std::int8_t, 1>>);

int main() {}
