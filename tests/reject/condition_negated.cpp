// expect: weft: a condition has no negative; use !, or cast it first
#include <weft/weft.hpp>

constexpr auto k = weft::kernel<"k">([](auto A) {
  return weft::compute<"B">(A.extent(0), [=](auto i) {
    [[maybe_unused]] auto b = -(A(i) > 0);  // <- here
    return A(i);
  });
});
static_assert(weft::checked<k, weft::arg<float, 1>>);

int main() {}
