// expect: weft: an index is an axis, an extent, an integer, arithmetic on them
#include <weft/weft.hpp>

constexpr auto k = weft::kernel<"k">([](auto A) {
  return weft::compute<"E">(A.extent(0), [=](auto i) {
    [[maybe_unused]] auto x = A(A(i) > 0);  // <- here
    return A(i);
  });
});
static_assert(weft::checked<k, weft::arg<float, 1>>);

int main() {}
