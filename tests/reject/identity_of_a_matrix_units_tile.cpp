// expect: a_matrix_unit_begins_its_tiles_with_zeros__no_identity_is_stored_in_front
#include <weft/matrix_units.hpp>
#include <weft/weft.hpp>

constexpr auto product = [](auto A, auto B) {
  return weft::compute<"C">(A.extent(0), B.extent(1), [=](auto i, auto j) {
    return weft::sum(A.extent(1), [=](auto k) { return weft::cast<float>(A(i, k)) * weft::cast<float>(B(k, j)); });
  });
};
constexpr auto k = weft::kernel<"k">(product, [](auto& s, auto, auto, auto C) {
  auto [i, j, k] = C.axes();
  auto [io, ii] = s.split(i, 16);
  auto [jo, ji] = s.split(j, 16);
  auto [ko, ki] = s.split(k, 16);
  s.reorder(io, jo, ko, ii, ji, ki);
  s.tensorize(ii, weft::mma_f16);
  s.decompose_reduction(C, ko);  // <- here
});
static_assert(weft::checked<k, weft::arg<weft::f16, 2>, weft::arg<weft::f16, 2>>);

int main() {}
