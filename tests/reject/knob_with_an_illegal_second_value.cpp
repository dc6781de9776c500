// expect: a_factor_must_be_at_least_1
#include <weft/weft.hpp>

constexpr auto doubled = weft::kernel<"doubled">(
    [](auto A) {
      return weft::compute<"C">(A.extent(0), A.extent(1), [=](auto i, auto j) { return A(i, j) + A(i, j); });
    },
    [](auto& s, auto, auto C) {
      auto [i, j] = C.axes();
      s.split(j, s.knob("factor", {8, 0}));  // <- here
      s.parallel(i);
    });
static_assert(weft::checked<doubled, weft::arg<float, 2>>);

int main() {}
