// expect: the_stage_is_computed_in_no_loop_of_another__compute_at_first
#include <weft/weft.hpp>

constexpr auto blurs = [](auto x) {
  auto blur = weft::compute<"blur">(x.extent(0) - 1, x.extent(1), [=](auto i, auto j) { return x(i, j) + x(i + 1, j); });
  return weft::compute<"out">(x.extent(0) - 2, x.extent(1), [=](auto i, auto j) { return blur(i, j) + blur(i + 1, j); });
};
constexpr auto k = weft::kernel<"k">(blurs, [](auto& s, auto, [[maybe_unused]] auto blur, auto out) {
  auto [y, x] = out.axes();
  static_cast<void>(x);
  s.store_at(blur, y);  // <- here
});
static_assert(weft::checked<k, weft::arg<float, 2>>);

int main() {}
