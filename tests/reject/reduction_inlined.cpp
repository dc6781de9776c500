// expect: a_reduction_cannot_be_inlined__use_compute_at
#include <weft/weft.hpp>

constexpr auto k = weft::kernel<"k">(
    [](auto x) {
      auto n = x.extent(1);
      auto m = weft::compute<"m">(x.extent(0), [=](auto i) { return weft::max(n, [=](auto j) { return x(i, j); }); });
      return weft::compute<"c">(x.extent(0), n, [=](auto i, auto j) { return x(i, j) - m(i); });
    },
    [](auto& s, auto, auto m, auto) {
      s.compute_inline(m);  // <- here
    });
static_assert(weft::checked<k, weft::arg<float, 2>>);

int main() {}
