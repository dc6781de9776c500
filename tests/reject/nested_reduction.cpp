// expect: weft: a reduction inside a reduction; give all axes to one
#include <weft/weft.hpp>

constexpr auto k = weft::kernel<"k">([](auto A) {
  return weft::compute<"C">(A.extent(0), [=](auto i) {
    return weft::sum(3, [=](auto) { return weft::sum(3, [=](auto j) { return A(j); }); });  // <- here
    return A(i);
  });
});
static_assert(weft::checked<k, weft::arg<float, 1>>);

int main() {}
