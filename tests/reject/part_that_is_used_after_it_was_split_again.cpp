// expect: the_axis_was_split_already
#include <weft/weft.hpp>

constexpr auto doubled = weft::kernel<"doubled">(
    [](auto A) {
      return weft::compute<"C">(A.extent(0), A.extent(1), [=](auto i, auto j) { return A(i, j) + A(i, j); });
    },
    [](auto& s, auto, auto C) {
      auto [i, j] = C.axes();
      auto [a, b, c] = s.split(j, 4, 8);
      s.vectorize(c, 4);
      s.unroll(c);  // <- here
      s.reorder(b, a);
      s.parallel(i, 16);
    });
static_assert(weft::checked<doubled, weft::arg<float, 2>>);

int main() {}
