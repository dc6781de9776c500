// expect: a_prepacked_stage_is_computed_in_a_nest_of_its_own
#include <weft/weft.hpp>

constexpr auto product = [](auto A, auto B) {
  return weft::compute<"C">(A.extent(0), B.extent(1), [=](auto i, auto j) {
    return weft::sum(A.extent(1), [=](auto k) { return A(i, k) * B(k, j); });
  });
};
constexpr auto k = weft::kernel<"k">(product, [](auto& s, auto, auto B, auto C) {
  auto [i, j, k] = C.axes();
  auto copy = s.cache_read(B, C);
  s.prepack(copy);
  s.compute_at(copy, i);  // <- here
});
static_assert(weft::checked<k, weft::arg<float, 2>, weft::arg<float, 2>>);

int main() {}
