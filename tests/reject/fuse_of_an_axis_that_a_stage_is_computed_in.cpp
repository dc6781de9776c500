// expect: a_stage_is_computed_inside_this_axis__fuse_it_before_compute_at
#include <weft/weft.hpp>

constexpr auto k = weft::kernel<"k">(
    [](auto x) {
      auto a = weft::compute<"a">(x.extent(0), x.extent(1), [=](auto i, auto j) { return x(i, j) * x(i, j); });
      return weft::compute<"b">(x.extent(0), x.extent(1), [=](auto i, auto j) { return a(i, j) + x(i, j); });
    },
    [](auto& s, auto, auto a, auto b) {
      auto [i, j] = b.axes();
      s.compute_at(a, j);
      s.fuse(i, j);  // <- here
    });
static_assert(weft::checked<k, weft::arg<float, 2>>);

int main() {}
