// expect: a_vectorized_axis_has_an_open_extent__split_it_first
#include <weft/dim.hpp>
#include <weft/weft.hpp>

constexpr auto doubled = weft::kernel<"doubled">(
    [](auto A) { return weft::compute<"C">(A.extent(0), [=](auto i) { return A(i) + A(i); }); },
    [](auto& s, auto, auto C) {
      auto [i] = C.axes();
      s.vectorize(i);  // <- here
      s.knob("unused", {1});
    });
static_assert(weft::checked<doubled, weft::arg<float, 1>>);
static_assert(weft::checked<doubled, weft::fixed_arg<float, weft::dim<"n">>>);

int main() {}
