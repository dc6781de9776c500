// expect: a_scan_cannot_be_inlined__use_compute_at
#include <weft/weft.hpp>

constexpr auto differences = weft::kernel<"differences">(
    [](auto A) {
      auto C = weft::compute<"C">(A.extent(0), [=](auto t) {
        return weft::sum(weft::up_to(t), [=](auto k) { return A(k); });
      });
      return weft::compute<"D">(A.extent(0), [=](auto i) { return C(i) - A(i); });
    },
    [](auto& s, auto, auto C, auto D) {
      s.compute_inline(C);  // <- here
      s.parallel(D.axes()[0]);
    });
static_assert(weft::checked<differences, weft::arg<float, 1>>);

int main() {}
