// expect: weft: % needs integers; cast the operands first
#include <weft/weft.hpp>

constexpr auto k = weft::kernel<"k">([](auto A) {
  return weft::compute<"C">(A.extent(0), [=](auto i) {
    return A(i) % A(i);  // <- here
    return A(i) / A(i);
  });
});
static_assert(weft::checked<k, weft::arg<weft::bf16, 1>>);

int main() {}
