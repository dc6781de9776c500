// expect: loops_that_run_as_one_have_one_extent
#include <weft/weft.hpp>

constexpr auto chain = [](auto x) {
  auto a = weft::compute<"a">(x.extent(0), x.extent(1), [=](auto i, auto j) { return x(i, j) + 1; });
  return weft::compute<"out">(x.extent(0), x.extent(1), [=](auto i, auto j) { return a(i, j) * 2; });
};
constexpr auto k = weft::kernel<"k">(chain, [](auto& s, auto, auto a, auto out) {
  auto [i, j] = out.axes();
  s.compute_at(a, i);
  auto [jo, ji] = s.split(j, 8);
  auto [ao, ai] = s.split(a.axes()[1], 4);
  static_cast<void>(jo), static_cast<void>(ao);
  s.jam(ai, ji);  // <- here
});
static_assert(weft::checked<k, weft::arg<float, 2>>);

int main() {}
