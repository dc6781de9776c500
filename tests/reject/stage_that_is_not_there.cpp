// expect: no_stage_has_this_name_and_so_many_axes
#include <weft/weft.hpp>

constexpr auto doubled = weft::kernel<"doubled">(
    [](auto A) { return weft::compute<"C">(A.extent(0), [=](auto i) { return A(i) + A(i); }); },
    [](auto& s) {
      auto [i] = weft::stage<"C", 1>(s).axes();
      s.split(i, 8);
      auto [j] = weft::stage<"D", 1>(s).axes();  // <- here
    });
static_assert(weft::checked<doubled, weft::arg<float, 1>>);

int main() {}
