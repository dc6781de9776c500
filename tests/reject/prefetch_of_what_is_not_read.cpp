// expect: the_stage_does_not_read_this_tensor
#include <weft/weft.hpp>

constexpr auto product = [](auto A, auto B) {
  auto const C = weft::compute<"C">(A.extent(0), B.extent(1), [=](auto i, auto j) {
    return weft::sum(A.extent(1), [=](auto k) { return A(i, k) * B(k, j); });
  });
  return weft::compute<"D">(A.extent(0), B.extent(1), [=](auto i, auto j) { return C(i, j) + 1; });
};
constexpr auto k = weft::kernel<"k">(product, [](auto& s, auto, auto B, auto, auto D) {
  auto [i, j] = D.axes();
  static_cast<void>(j);
  s.prefetch(B, i, 8);  // <- here
});
static_assert(weft::checked<k, weft::arg<float, 2>, weft::arg<float, 2>>);

int main() {}
