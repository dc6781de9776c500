// expect: a_reduced_axis_runs_outside_of_this_one__the_identity_is_stored_once
#include <weft/weft.hpp>

constexpr auto sums = [](auto A) {
  auto S = weft::compute<"S">(A.extent(0), [=](auto i) {
    return weft::sum(A.extent(1), [=](auto k) { return A(i, k); });
  });
  return weft::compute<"T">(A.extent(0), [=](auto i) { return S(i) * S(i); });
};
constexpr auto k = weft::kernel<"k">(sums, [](auto& s, auto, auto S, auto) {
  auto [i, j] = S.axes();
  s.decompose_reduction(S, i);
  s.reorder(j, i);  // <- here
});
static_assert(weft::checked<k, weft::arg<float, 2>>);

int main() {}
