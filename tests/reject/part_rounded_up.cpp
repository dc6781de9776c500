// expect: a_part_of_an_axis_cannot_be_rounded_up__round_up_the_whole_axis_first
#include <weft/weft.hpp>

constexpr auto k = weft::kernel<"k">(
    [](auto x) {
      auto a = weft::compute<"a">(x.extent(0), [=](auto i) { return x(i) * x(i); });
      return weft::compute<"b">(x.extent(0), [=](auto i) { return a(i) + x(i); });
    },
    [](auto& s, auto, auto a, auto b) {
      auto [i] = a.axes();
      auto [io, ii] = s.split(i, 64);
      s.vectorize(ii, 24, weft::tail::round_up);  // <- here
      s.parallel(io);
      s.unroll(b.axes()[0], 2);
    });
static_assert(weft::checked<k, weft::arg<float, 1>>);

int main() {}
