// expect: the_last_part_of_a_reduction_cannot_be_shifted_inwards
#include <weft/weft.hpp>

constexpr auto product = [](auto A, auto B) {
  return weft::compute<"C">(A.extent(0), B.extent(1), [=](auto i, auto j) {
    return weft::sum(A.extent(1), [=](auto k) { return A(i, k) * B(k, j); });
  });
};
constexpr auto k = weft::kernel<"k">(product, [](auto& s, auto, auto, auto C) {
  auto [i, j, k] = C.axes();
  s.parallel(i);
  s.split(k, 8, weft::tail::shift_inwards);  // <- here
  s.vectorize(j, 8);
});
static_assert(weft::checked<k, weft::arg<float, 2>, weft::arg<float, 2>>);

int main() {}
