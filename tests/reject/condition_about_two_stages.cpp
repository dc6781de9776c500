// expect: the_axes_belong_to_different_stages
#include <weft/weft.hpp>

constexpr auto product = [](auto A, auto B) {
  return weft::compute<"C">(A.extent(0), B.extent(1), [=](auto i, auto j) {
    return weft::sum(A.extent(1), [=](auto k) { return A(i, k) * B(k, j); });
  });
};
constexpr auto k = weft::kernel<"k">(product, [](auto& s, auto, [[maybe_unused]] auto B, auto C) {
  auto [i, j, k] = C.axes();
  auto [p, q] = s.cache_read(B, C).axes();
  s.specialize(s.extent(i) % 8 == 0 && s.extent(p) % 8 == 0);  // <- here
});
static_assert(weft::checked<k, weft::arg<float, 2>, weft::arg<float, 2>>);

int main() {}
