// expect: memory_on_the_stack_ends_with_the_call__it_cannot_be_prepacked
#include <weft/weft.hpp>

constexpr auto k = weft::kernel<"k">(
    [](auto x) { return weft::compute<"y">(x.extent(0), [=](auto i) { return x(i) + 1; }); },
    [](auto& s, auto x, auto y) {
      auto copy = s.cache_read(x, y);
      s.set_scope(copy, weft::scope::stack);
      s.prepack(copy);  // <- here
    });
static_assert(weft::checked<k, weft::fixed_arg<float, 16>>);

int main() {}
