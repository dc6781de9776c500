// expect: weft: a reduction is the whole body of a stage
#include <weft/weft.hpp>

constexpr auto k = weft::kernel<"k">([](auto A) {
  return weft::compute<"C">(A.extent(0), [=](auto i) {
    return weft::sum(A.extent(0), [=](auto j) { return A(j); }) + 1;  // <- here
    return A(i);
  });
});
static_assert(weft::checked<k, weft::arg<float, 1>>);

int main() {}
