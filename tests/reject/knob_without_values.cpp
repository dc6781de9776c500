// expect: a_knob_needs_at_least_one_value
#include <weft/weft.hpp>

constexpr auto doubled = weft::kernel<"doubled">(
    [](auto A) {
      return weft::compute<"C">(A.extent(0), A.extent(1), [=](auto i, auto j) { return A(i, j) + A(i, j); });
    },
    [](auto& s, auto, auto C) {
      auto [i, j] = C.axes();
      auto factor = s.knob("factor", {});  // <- here
      s.split(j, 8);
    });
static_assert(weft::checked<doubled, weft::arg<float, 2>>);

int main() {}
