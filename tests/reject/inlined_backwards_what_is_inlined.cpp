// expect: the_stage_of_this_axis_is_inlined__it_has_no_loops
#include <weft/weft.hpp>

constexpr auto maps = [](auto x) {
  auto P = weft::compute<"P">(x.extent(0), [=](auto i) { return x(i) * x(i); });
  return weft::compute<"C">(x.extent(0) - 1, [=](auto i) { return P(i) + 1; });
};
constexpr auto k = weft::kernel<"k">(maps, []([[maybe_unused]] auto& s, auto, [[maybe_unused]] auto P, auto C) {
  s.compute_inline(P);
  s.reverse_compute_inline(C);  // <- here
});
static_assert(weft::checked<k, weft::arg<float, 1>>);

int main() {}
