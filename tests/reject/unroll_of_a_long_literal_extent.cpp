// expect: an_unrolled_axis_runs_more_than_1024_times__split_it_first
#include <weft/weft.hpp>

constexpr auto sums = weft::kernel<"sums">(
    [](auto A) {
      return weft::compute<"C">(A.extent(0), [=](auto i) {
        return weft::sum(2000, [=](auto k) { return A(i) * weft::cast<float>(k); });
      });
    },
    [](auto& s, auto, auto C) {
      auto [i, k] = C.axes();
      s.unroll(k);  // <- here
      s.parallel(i);
    });
static_assert(weft::checked<sums, weft::arg<float, 1>>);

int main() {}
