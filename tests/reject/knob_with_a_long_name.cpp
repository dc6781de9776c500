// expect: the_name_of_a_knob_has_at_most_30_characters
#include <weft/weft.hpp>

constexpr auto doubled = weft::kernel<"doubled">(
    [](auto A) { return weft::compute<"C">(A.extent(0), [=](auto i) { return A(i) + A(i); }); },
    [](auto& s, auto, auto C) {
      auto [i] = C.axes();
      s.split(i, s.knob("how_many_elements_of_C_at_a_time", {4, 8}));  // <- here
    });
static_assert(weft::checked<doubled, weft::arg<float, 1>>);

int main() {}
