// expect: weft: a number with a fraction meets an integer tensor; cast the tensor first
#include <weft/weft.hpp>

constexpr auto k = weft::kernel<"k">([](auto A) {
  return weft::compute<"C">(A.extent(0), [=](auto i) {
    return A(i) * 0.5f;  // <- here
    return weft::cast<float>(A(i)) * 0.5f;
  });
});
static_assert(weft::checked<k, weft::arg<int, 1>>);

int main() {}
