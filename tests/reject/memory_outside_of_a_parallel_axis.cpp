// expect: a_parallel_axis_cannot_stand_between_a_stage_and_its_memory
#include <weft/weft.hpp>

constexpr auto blurs = [](auto x) {
  auto blur = weft::compute<"blur">(x.extent(0) - 1, x.extent(1), [=](auto i, auto j) { return x(i, j) + x(i + 1, j); });
  return weft::compute<"out">(x.extent(0) - 2, x.extent(1), [=](auto i, auto j) { return blur(i, j) + blur(i + 1, j); });
};
constexpr auto k = weft::kernel<"k">(blurs, [](auto& s, auto, [[maybe_unused]] auto blur, auto out) {
  auto [y, x] = out.axes();
  static_cast<void>(x);
  s.parallel(y);
  s.compute_at(blur, y);
  s.store_root(blur);  // <- here
});
static_assert(weft::checked<k, weft::arg<float, 2>>);

int main() {}
