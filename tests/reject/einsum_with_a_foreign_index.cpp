// expect: weft: einsum takes letters, commas and one arrow
#include <weft/weft.hpp>

constexpr auto k = weft::kernel<"k">([](auto A, auto B) {
  [[maybe_unused]] auto C = weft::einsum<"ij,jk->im">(A, B);  // <- here
  return weft::compute<"E">(A.extent(0), [=](auto i) { return A(i, 0) + B(0, 0); });
});
static_assert(weft::checked<k, weft::arg<float, 2>, weft::arg<float, 2>>);

int main() {}
