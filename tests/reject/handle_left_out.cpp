// expect: weft: the how-lambda takes the schedule, then one handle per input, then one per stage
#include <weft/weft.hpp>

constexpr auto doubled = weft::kernel<"doubled">(
    [](auto A) { return weft::compute<"C">(A.extent(0), [=](auto i) { return A(i) + A(i); }); },
    [](auto& s, auto C) {
      auto [i] = C.axes();
      s.parallel(i);
    });
static_assert(weft::checked<doubled, weft::arg<float, 1>>);  // <- here

int main() {}
