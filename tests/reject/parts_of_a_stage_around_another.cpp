// expect: a_stage_is_computed_inside_a_reduced_axis__rfactor_before_compute_at
#include <weft/weft.hpp>

constexpr auto sums = [](auto A) {
  auto S = weft::compute<"S">(A.extent(0), [=](auto i) {
    return weft::sum(A.extent(1), [=](auto k) { return A(i, k); });
  });
  return weft::compute<"T">(A.extent(0), [=](auto i) { return S(i) * S(i); });
};
constexpr auto k = weft::kernel<"k">(sums, [](auto& s, auto A, auto S, auto) {
  auto [i, j] = S.axes();
  auto copy = s.cache_read(A, S);
  s.compute_at(copy, j);
  static_cast<void>(i);
  s.rfactor(S, j, 8);  // <- here
});
static_assert(weft::checked<k, weft::arg<float, 2>>);

int main() {}
