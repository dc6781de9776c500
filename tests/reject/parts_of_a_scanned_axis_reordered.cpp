// expect: the_outer_part_of_a_scanned_axis_stays_around_the_inner_one
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
      s.reorder(ti, i, to);  // <- here
      s.unroll(ti);
    });
static_assert(weft::checked<running_sums, weft::arg<float, 2>>);

int main() {}
