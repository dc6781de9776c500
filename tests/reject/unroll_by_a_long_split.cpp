// expect: an_unrolled_axis_runs_more_than_1024_times__split_it_first
#include <weft/weft.hpp>

constexpr auto doubled = weft::kernel<"doubled">(
    [](auto A) {
      return weft::compute<"C">(A.extent(0), A.extent(1), [=](auto i, auto j) { return A(i, j) + A(i, j); });
    },
    [](auto& s, auto, auto C) {
      auto [i, j] = C.axes();
      auto [jo, ji] = s.split(j, 1025);
      s.unroll(ji);  // <- here
      s.parallel(i);
    });
static_assert(weft::checked<doubled, weft::arg<float, 2>>);

int main() {}
