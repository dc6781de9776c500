// expect: first views of const elements, then those of what it writes
#include <weft/weft.hpp>
#include <weft/expr/extern.hpp>

int sums(weft::extern_view<float, 1> y, weft::extern_view<float const, 1> x) noexcept;

constexpr auto k = weft::kernel<"k">([](auto x) {
  weft::external<"sums", &sums>(x);  // <- here
  return weft::compute<"y">(x.extent(0), [=](auto i) { return x(i) + 1; });
});
static_assert(weft::checked<k, weft::arg<float, 1>>);

int main() {}
