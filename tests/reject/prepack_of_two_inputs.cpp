// expect: a_prepacked_stage_reads_one_input_and_nothing_else
#include <weft/weft.hpp>

constexpr auto k = weft::kernel<"k">(
    [](auto x, auto a) {
      auto scaled = weft::compute<"scaled">(x.extent(0), [=](auto i) { return a * x(i); });
      return weft::compute<"y">(x.extent(0), [=](auto i) { return scaled(i) + 1; });
    },
    [](auto& s, auto, auto, auto scaled, auto) {
      s.prepack(scaled);  // <- here
    });
static_assert(weft::checked<k, weft::arg<float, 1>, weft::scalar_arg<float>>);

int main() {}
