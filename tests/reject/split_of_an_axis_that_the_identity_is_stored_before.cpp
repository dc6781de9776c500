// expect: the_identity_is_stored_in_front_of_this_axis__split_it_first
#include <weft/weft.hpp>

constexpr auto sums = [](auto A) {
  auto S = weft::compute<"S">(A.extent(0), [=](auto i) {
    return weft::sum(A.extent(1), [=](auto k) { return A(i, k); });
  });
  return weft::compute<"T">(A.extent(0), [=](auto i) { return S(i) * S(i); });
};
constexpr auto k = weft::kernel<"k">(sums, [](auto& s, auto, auto S, auto) {
  auto [i, j] = S.axes();
  static_cast<void>(j);
  s.decompose_reduction(S, i);
  s.split(i, 4);  // <- here
});
static_assert(weft::checked<k, weft::arg<float, 2>>);

int main() {}
