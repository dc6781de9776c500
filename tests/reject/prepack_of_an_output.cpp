// expect: the_memory_of_an_output_is_the_callers__cache_write_it
#include <weft/weft.hpp>

constexpr auto k = weft::kernel<"k">(
    [](auto x) { return weft::compute<"y">(x.extent(0), [=](auto i) { return x(i) + 1; }); },
    [](auto& s, auto, auto y) {
      s.prepack(y);  // <- here
    });
static_assert(weft::checked<k, weft::arg<float, 1>>);

int main() {}
