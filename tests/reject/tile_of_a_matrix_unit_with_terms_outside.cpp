// expect: a_tile_of_a_matrix_unit_is_the_three_innermost_axes__rows_columns_and_terms
#include <weft/weft.hpp>
#include <weft/matrix_units.hpp>

constexpr auto product = [](auto A, auto B) {
  return weft::compute<"C">(A.extent(0), B.extent(1), [=](auto i, auto j) {
    return weft::sum(A.extent(1), [=](auto k) { return weft::cast<float>(A(i, k)) * weft::cast<float>(B(k, j)); });
  });
};
constexpr auto k = weft::kernel<"k">(product, [](auto& s, auto, auto, auto C) {
  auto [i, j, l] = C.axes();
  auto [io, ii] = s.split(i, 16);
  auto [jo, ji] = s.split(j, 16);
  auto [lo, li] = s.split(l, 16);
  s.reorder(io, jo, lo, li, ii, ji);
  s.tensorize(ii, weft::wmma_f16);  // <- here
});
static_assert(weft::checked<k, weft::arg<weft::f16, 2>, weft::arg<weft::f16, 2>>);

int main() {}
