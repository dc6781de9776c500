// expect: a_condition_is_about_whole_axes__not_about_parts_or_several_fused
#include <weft/weft.hpp>

constexpr auto product = [](auto A, auto B) {
  return weft::compute<"C">(A.extent(0), B.extent(1), [=](auto i, auto j) {
    return weft::sum(A.extent(1), [=](auto k) { return A(i, k) * B(k, j); });
  });
};
constexpr auto k = weft::kernel<"k">(product, [](auto& s, auto, auto, auto C) {
  auto [i, j, k] = C.axes();
  auto [io, ii] = s.split(i, 8);
  s.specialize(s.extent(io) % 4 == 0);  // <- here
});
static_assert(weft::checked<k, weft::arg<float, 2>, weft::arg<float, 2>>);

int main() {}
