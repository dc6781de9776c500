// expect-gcc: factor()
// expect-clang: non-constexpr function 'factor'
#include <weft/weft.hpp>

int factor() { return 8; }

constexpr auto doubled = weft::kernel<"doubled">(
    [](auto A) { return weft::compute<"C">(A.extent(0), [=](auto i) { return A(i) + A(i); }); },
    [](auto& s, auto, auto C) {
      auto [i] = C.axes();
      s.split(i, factor());  // <- here
    });
static_assert(weft::checked<doubled, weft::arg<float, 1>>);

int main() {}
