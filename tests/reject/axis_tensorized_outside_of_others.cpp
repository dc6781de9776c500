// expect: a_tensorized_axis_stands_inside_all_others__reorder_first
#include <weft/intrinsics.hpp>
#include <weft/weft.hpp>

constexpr auto product = [](auto A, auto B) {
  return weft::compute<"C">(A.extent(0), B.extent(1), [=](auto i, auto j) {
    return weft::sum(A.extent(1), [=](auto k) { return A(i, k) * B(k, j); });
  });
};
constexpr auto k = weft::kernel<"k">(product, [](auto& s, auto, auto, auto C) {
  auto [i, j, k] = C.axes();
  auto [ko, ki] = s.split(k, 2);
  s.reorder(ki, i);
  s.tensorize(ki, weft::pmaddwd);  // <- here
});
static_assert(weft::checked<k, weft::arg<short, 2>, weft::arg<short, 2>>);

int main() {}
