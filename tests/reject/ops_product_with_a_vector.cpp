// expect: weft::ops::matmul: matrices have two dimensions or more; see ops::matvec, ops::dot
#include <weft/weft.hpp>

#include <weft/ops.hpp>

constexpr auto k = weft::kernel<"k">([](auto x, auto v) {
  [[maybe_unused]] auto y = weft::ops::matmul(x, v);  // <- here
  return weft::ops::relu(x);
});
static_assert(weft::checked<k, weft::arg<float, 2>, weft::arg<float, 1>>);

int main() {}
