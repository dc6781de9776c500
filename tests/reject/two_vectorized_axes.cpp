// expect: the_stage_has_a_vectorized_axis_already
#include <weft/weft.hpp>

constexpr auto doubled = weft::kernel<"doubled">(
    [](auto A) {
      return weft::compute<"C">(A.extent(0), A.extent(1), [=](auto i, auto j) { return A(i, j) + A(i, j); });
    },
    [](auto& s, auto, auto C) {
      auto [i, j] = C.axes();
      s.vectorize(j);
      auto [io, ii] = s.split(i, 4);
      s.vectorize(ii);  // <- here
    });
static_assert(weft::checked<doubled, weft::arg<float, 2>>);

int main() {}
