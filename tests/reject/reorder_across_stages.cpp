// expect: the_axes_belong_to_different_stages
#include <weft/weft.hpp>

constexpr auto twice = weft::kernel<"twice">(
    [](auto A) {
      auto B = weft::compute<"B">(A.extent(0), [=](auto i) { return A(i) * 2; });
      return weft::compute<"C">(A.extent(0), [=](auto i) { return B(i) * 2; });
    },
    [](auto& s, auto, auto B, auto C) {
      auto [b] = B.axes();
      auto [c] = C.axes();
      s.reorder(b, c);  // <- here
      s.parallel(c);
    });
static_assert(weft::checked<twice, weft::arg<float, 1>>);

int main() {}
