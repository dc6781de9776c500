// expect: a_prepacked_stage_is_computed_in_a_nest_of_its_own
#include <weft/weft.hpp>

constexpr auto k = weft::kernel<"k">(
    [](auto x, auto w) {
      auto y = weft::compute<"y">(w.extent(0), [=](auto i) { return x(i) + w(i); });
      auto z = weft::compute<"z">(w.extent(0), [=](auto i) { return w(i) * 2; });
      return weft::outputs(y, z);
    },
    [](auto& s, auto, auto w, auto y, auto z) {
      auto copy = s.cache_read(w, y);
      s.prepack(copy);
      auto [i] = copy.axes();
      s.compute_with(z, i);  // <- here
    });
static_assert(weft::checked<k, weft::arg<float, 1>, weft::arg<float, 1>>);

int main() {}
