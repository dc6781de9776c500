// expect: this_tensor_has_no_such_dimension
#include <weft/weft.hpp>

constexpr auto k = weft::kernel<"k">([](auto A, auto B) {
  return weft::compute<"C">(A.extent(2), [=](auto i) { return A(0, 0) + B(i); });  // <- here
  return weft::compute<"C">(A.extent(1), [=](auto i) { return A(0, 0) + B(i); });
});
static_assert(weft::checked<k, weft::arg<float, 2>, weft::arg<float, 1>>);

int main() {}
