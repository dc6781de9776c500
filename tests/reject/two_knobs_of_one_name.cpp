// expect: two_knobs_have_this_name__give_each_its_own
#include <weft/weft.hpp>

constexpr auto doubled = weft::kernel<"doubled">(
    [](auto A) {
      return weft::compute<"C">(A.extent(0), A.extent(1), [=](auto i, auto j) { return A(i, j) + A(i, j); });
    },
    [](auto& s, auto, auto C) {
      auto [i, j] = C.axes();
      s.split(i, s.knob("size", {8, 4}));
      s.split(j, s.knob("size", {16, 32}));  // <- here
    });
static_assert(weft::checked<doubled, weft::arg<float, 2>>);

int main() {}
