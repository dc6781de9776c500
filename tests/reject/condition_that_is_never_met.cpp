// expect: a_condition_is_a_rest_below_its_divisor_or_an_extent_from_1_on
#include <weft/weft.hpp>

constexpr auto product = [](auto A, auto B) {
  return weft::compute<"C">(A.extent(0), B.extent(1), [=](auto i, auto j) {
    return weft::sum(A.extent(1), [=](auto k) { return A(i, k) * B(k, j); });
  });
};
constexpr auto k = weft::kernel<"k">(product, [](auto& s, auto, auto, auto C) {
  auto [i, j, k] = C.axes();
  s.specialize(s.extent(i) % 8 == 8);  // <- here
});
static_assert(weft::checked<k, weft::arg<float, 2>, weft::arg<float, 2>>);

int main() {}
