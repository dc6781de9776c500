// expect: weft: an extent is a size of a tensor (A.extent(0)), an integer, or arithmetic on them
#include <weft/weft.hpp>

constexpr auto k = weft::kernel<"k">([](auto A) {
  auto body = [=](auto i) { return A(i); };
  return weft::compute<"C">(0.5, body);  // <- here
  return weft::compute<"C">(A.extent(0), body);
});
static_assert(weft::checked<k, weft::arg<float, 1>>);

int main() {}
