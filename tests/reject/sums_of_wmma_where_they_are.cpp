// expect: this_matrix_unit_keeps_its_sums_to_itself__use_compute_at
#include <weft/weft.hpp>
#include <weft/matrix_units.hpp>

constexpr auto product = [](auto A, auto B) {
  auto S = weft::compute<"S">(A.extent(0), B.extent(1), [=](auto i, auto j) {
    return weft::sum(A.extent(1), [=](auto k) { return weft::cast<float>(A(i, k)) * weft::cast<float>(B(k, j)); });
  });
  return weft::compute<"C">(A.extent(0), B.extent(1), [=](auto i, auto j) { return weft::max(S(i, j), 0.0f); });
};
constexpr auto k = weft::kernel<"k">(product, [](auto& s, auto, auto, auto S, auto C) {
  auto [i, j, l] = S.axes();
  auto [io, ii] = s.split(i, 16);
  auto [jo, ji] = s.split(j, 16);
  auto [lo, li] = s.split(l, 16);
  s.reorder(io, jo, lo, ii, ji, li);
  s.tensorize(ii, weft::wmma_f16);
  s.reverse_compute_inline(C);  // <- here
});
static_assert(weft::checked<k, weft::arg<weft::f16, 2>, weft::arg<weft::f16, 2>>);

int main() {}
