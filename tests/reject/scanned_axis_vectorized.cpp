// expect: a_scanned_axis_is_walked_in_its_order__mark_another_axis
#include <weft/weft.hpp>

constexpr auto running_sums = weft::kernel<"running_sums">(
    [](auto A) {
      return weft::compute<"C">(A.extent(0), A.extent(1), [=](auto i, auto t) {
        return weft::sum(weft::up_to(t), [=](auto k) { return A(i, k); });
      });
    },
    [](auto& s, auto, auto C) {
      auto [i, t] = C.axes();
      auto [to, ti] = s.split(t, 8);
      s.vectorize(ti);  // <- here
      s.parallel(i);
    });
static_assert(weft::checked<running_sums, weft::arg<float, 2>>);

int main() {}
