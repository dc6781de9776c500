// expect: a_stage_beside_another_has_its_whole_memory
#include <weft/weft.hpp>

constexpr auto differences = [](auto x) {
  auto dx = weft::compute<"dx">(x.extent(0), x.extent(1) - 1, [=](auto i, auto j) { return x(i, j + 1) - x(i, j); });
  auto dy = weft::compute<"dy">(x.extent(0), x.extent(1) - 1, [=](auto i, auto j) { return x(i, j) * 2; });
  return weft::compute<"out">(x.extent(0), x.extent(1) - 1, [=](auto i, auto j) { return dx(i, j) + dy(i, j); });
};
constexpr auto k = weft::kernel<"k">(differences, [](auto& s, auto, auto dx, auto dy, [[maybe_unused]] auto out) {
  auto [i, j] = dx.axes();
  static_cast<void>(j);
  s.compute_at(dx, out.axes()[0]);
  s.fold_storage(i, 2);
  s.compute_with(dx, dy.axes()[0]);  // <- here
});
static_assert(weft::checked<k, weft::arg<float, 2>>);

int main() {}
