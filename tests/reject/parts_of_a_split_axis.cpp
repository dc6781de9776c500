// expect: a_reduced_axis_is_split_or_marked_already__rfactor_first
#include <weft/weft.hpp>

constexpr auto sums = [](auto A) {
  auto S = weft::compute<"S">(A.extent(0), [=](auto i) {
    return weft::sum(A.extent(1), [=](auto k) { return A(i, k); });
  });
  return weft::compute<"T">(A.extent(0), [=](auto i) { return S(i) * S(i); });
};
constexpr auto k = weft::kernel<"k">(sums, [](auto& s, auto, auto S, auto) {
  auto [i, j] = S.axes();
  auto [jo, ji] = s.split(j, 64);
  static_cast<void>(i), static_cast<void>(jo), static_cast<void>(ji);
  s.rfactor(S, ji, 8);  // <- here
});
static_assert(weft::checked<k, weft::arg<float, 2>>);

int main() {}
