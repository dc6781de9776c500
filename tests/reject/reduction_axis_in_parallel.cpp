// expect: a_reduction_axis_cannot_run_in_parallel__use_rfactor
#include <weft/weft.hpp>

constexpr auto row_sums = weft::kernel<"row_sums">(
    [](auto A) {
      return weft::compute<"C">(A.extent(0), [=](auto i) {
        return weft::sum(A.extent(1), [=](auto k) { return A(i, k); });
      });
    },
    [](auto& s, auto, auto C) {
      auto [i, k] = C.axes();
      s.parallel(k);  // <- here
      s.parallel(i);
    });
static_assert(weft::checked<row_sums, weft::arg<float, 2>>);

int main() {}
