// expect: a_scanned_axis_and_another_one_cannot_be_fused
#include <weft/weft.hpp>

constexpr auto running_sums = weft::kernel<"running_sums">(
    [](auto A) {
      auto a = weft::compute<"a">(A.extent(0), A.extent(1), [=](auto i, auto j) { return A(i, j) * 2; });
      return weft::compute<"C">(A.extent(0), A.extent(1), [=](auto i, auto j) {
        return weft::sum(weft::up_to(j), [=](auto k) { return a(i, k); });
      });
    },
    [](auto& s, auto, auto a, auto C) {
      auto [i, j] = a.axes();
      s.fuse(i, j);
      s.reverse_compute_inline(C);  // <- here
    });
static_assert(weft::checked<running_sums, weft::arg<float, 2>>);

int main() {}
