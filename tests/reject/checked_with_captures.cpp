// expect: weft: the compiler cannot run this kernel's lambdas
#include <weft/weft.hpp>

int weight = 3;

auto const weighted = [factor = weight] {
  return weft::kernel<"weighted">(
      [=](auto A) { return weft::compute<"C">(A.extent(0), [=](auto i) { return A(i) * factor; }); });
}();
static_assert(weft::checked<weighted, weft::arg<float, 1>>);  // <- here

int main() {}
