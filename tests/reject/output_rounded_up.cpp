// expect: an_axis_of_an_output_or_of_a_reduction_cannot_be_rounded_up
#include <weft/weft.hpp>

constexpr auto doubled = weft::kernel<"doubled">(
    [](auto A) {
      return weft::compute<"C">(A.extent(0), A.extent(1), [=](auto i, auto j) { return A(i, j) + A(i, j); });
    },
    [](auto& s, auto, auto C) {
      auto [i, j] = C.axes();
      s.parallel(i);
      s.vectorize(j, 8, weft::tail::round_up);  // <- here
    });
static_assert(weft::checked<doubled, weft::arg<float, 2>>);

int main() {}
