// expect: a_parallel_axis_cannot_stand_inside_an_unrolled_or_vectorized_one__reorder_first
#include <weft/weft.hpp>

constexpr auto doubled = weft::kernel<"doubled">(
    [](auto A) {
      return weft::compute<"C">(A.extent(0), A.extent(1), [=](auto i, auto j) { return A(i, j) + A(i, j); });
    },
    [](auto& s, auto, auto C) {
      auto [i, j] = C.axes();
      auto [io, ii] = s.split(i, 4);
      s.unroll(ii);
      s.parallel(j);  // <- here
    });
static_assert(weft::checked<doubled, weft::arg<float, 2>>);

int main() {}
