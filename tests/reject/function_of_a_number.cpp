// expect: weft: external takes tensors: inputs of the kernel, or stages, each with a name
#include <weft/weft.hpp>
#include <weft/expr/extern.hpp>

int sums(weft::extern_view<float const, 1> x, weft::extern_view<float, 1> y) noexcept;

constexpr auto k = weft::kernel<"k">([](auto x) {
  auto const n = x.extent(0);
  weft::external<"sums", &sums>(n);  // <- here
  return weft::compute<"y">(x.extent(0), [=](auto i) { return x(i) + 1; });
});
static_assert(weft::checked<k, weft::arg<float, 1>>);

int main() {}
