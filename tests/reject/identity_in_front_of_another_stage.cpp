// expect: the_stage_does_not_have_this_axis
#include <weft/weft.hpp>

constexpr auto sums = [](auto A) {
  auto S = weft::compute<"S">(A.extent(0), [=](auto i) {
    return weft::sum(A.extent(1), [=](auto k) { return A(i, k); });
  });
  return weft::compute<"T">(A.extent(0), [=](auto i) { return S(i) * S(i); });
};
constexpr auto k = weft::kernel<"k">(sums, [](auto& s, auto, auto S, auto T) {
  auto [i] = T.axes();
  static_cast<void>(S);
  s.decompose_reduction(S, i);  // <- here
});
static_assert(weft::checked<k, weft::arg<float, 2>>);

int main() {}
