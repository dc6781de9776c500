// expect: the_axis_is_gone__use_those_of_the_handle_that_its_step_returned
#include <weft/weft.hpp>

constexpr auto sums = [](auto A) {
  auto S = weft::compute<"S">(A.extent(0), [=](auto i) {
    return weft::sum(A.extent(1), [=](auto k) { return A(i, k); });
  });
  return weft::compute<"T">(A.extent(0), [=](auto i) { return S(i) * S(i); });
};
constexpr auto k = weft::kernel<"k">(sums, [](auto& s, auto, auto S, auto) {
  auto [i, j] = S.axes();
  static_cast<void>(i);
  s.rfactor(S, j, 8);
  s.unroll(j);  // <- here
});
static_assert(weft::checked<k, weft::arg<float, 2>>);

int main() {}
