// expect: per_block has a number for at most three dimensions of the result
#include <weft/weft.hpp>
#include <weft/expr/extern.hpp>

inline constexpr weft::cuda_function on_gpu{.name = "f", .text = "", .per_block = {1, 1, 1, 1}};

constexpr auto k = weft::kernel<"k">([](auto x) {
  auto n = x.extent(0);
  weft::compute<"f">(n, n, n, n, weft::external<"f", weft::gpu_only<weft::extern_view<float const, 1>, weft::extern_view<float, 4>>, &on_gpu>(x));  // <- here
  return weft::compute<"y">(n, [=](auto i) { return x(i) + 1; });
});
static_assert(weft::checked<k, weft::arg<float, 1>>);

int main() {}
