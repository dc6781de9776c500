// expect: an_output_is_computed_in_a_nest_of_its_own
#include <weft/weft.hpp>

// d is read by b alone, a by b and c.
constexpr auto k = weft::kernel<"k">(
    [](auto x) {
      auto d = weft::compute<"d">(x.extent(0), [=](auto i) { return x(i) * x(i); });
      auto a = weft::compute<"a">(x.extent(0), [=](auto i) { return x(i) + x(i); });
      auto b = weft::compute<"b">(x.extent(0), [=](auto i) { return a(i) + d(i); });
      return weft::compute<"c">(x.extent(0), [=](auto i) { return a(i) * b(i); });
    },
    []([[maybe_unused]] auto& s, auto, [[maybe_unused]] auto d, [[maybe_unused]] auto a, [[maybe_unused]] auto b, [[maybe_unused]] auto c) {
      s.compute_inline(c);  // <- here
    });
static_assert(weft::checked<k, weft::arg<float, 1>>);

int main() {}
