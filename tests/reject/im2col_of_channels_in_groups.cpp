// expect: the_terms_are_no_products_of_two_tensors__of_which_each_axis_moves_one
#include <weft/weft.hpp>

constexpr auto grouped = [](auto x, auto w) {
  return weft::compute<"y">(x.extent(0) - 2, w.extent(2), [=](auto i, auto f) {
    return weft::sum(3, w.extent(1), [=](auto d, auto c) { return x(i + d, f / 4 * 8 + c) * w(d, c, f); });
  });
};
constexpr auto k = weft::kernel<"k">(grouped, [](auto& s, auto, auto, auto y) {
  s.im2col(y);  // <- here
});
static_assert(weft::checked<k, weft::arg<float, 2>, weft::arg<float, 3>>);

int main() {}
