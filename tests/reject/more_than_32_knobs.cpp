// expect: a_schedule_has_at_most_32_knobs
#include <weft/weft.hpp>

constexpr auto doubled = weft::kernel<"doubled">(
    [](auto A) { return weft::compute<"C">(A.extent(0), [=](auto i) { return A(i) + A(i); }); },
    [](auto& s, auto, auto C) {
      auto [i] = C.axes();
      long factor = 1;
      for (int n = 0; n < 33; ++n)
        factor +=
            s.knob(std::string_view("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijk").substr(static_cast<unsigned>(n), 1), {1}) +  // <- here
            0;
      s.split(i, factor);
    });
static_assert(weft::checked<doubled, weft::arg<float, 1>>);

int main() {}
