// expect-gcc: 'wrap' is not a member of 'weft
// expect-clang: no member named 'wrap' in 'weft
#include <weft/weft.hpp>

constexpr auto doubled = weft::kernel<"doubled">(
    [](auto A) {
      return weft::compute<"C">(A.extent(0), A.extent(1), [=](auto i, auto j) { return A(i, j) + A(i, j); });
    },
    [](auto& s, auto, auto C) {
      auto [i, j] = C.axes();
      s.split(j, 4, weft::tail::wrap);  // <- here
      s.parallel(i);
    });
static_assert(weft::checked<doubled, weft::arg<float, 2>>);

int main() {}
