// expect: one_of_the_stages_needs_the_other__use_compute_at
#include <weft/weft.hpp>

constexpr auto what = [](auto A) {
  auto S = weft::compute<"S">(A.extent(0), A.extent(1), [=](auto i, auto j) { return A(i, j) + 1; });
  auto T = weft::compute<"T">(A.extent(0), [=](auto i) {
    return weft::sum(A.extent(1), [=](auto k) { return S(i, k); });
  });
  return weft::outputs(S, T);
};
constexpr auto k = weft::kernel<"k">(what, [](auto& s, auto, auto S, auto T) {
  auto [i, j] = S.axes();
  auto [ti, tk] = T.axes();
  s.compute_with(T, i);  // <- here
  static_cast<void>(i), static_cast<void>(j), static_cast<void>(ti), static_cast<void>(tk);
});
static_assert(weft::checked<k, weft::arg<float, 2>>);

int main() {}
