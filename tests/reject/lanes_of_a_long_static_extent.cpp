// expect: a_vectorized_axis_has_more_than_1024_lanes__split_it_first
#include <weft/weft.hpp>

constexpr auto doubled = weft::kernel<"doubled">(
    [](auto A) {
      return weft::compute<"C">(A.extent(0), A.extent(1), [=](auto i, auto j) { return A(i, j) + A(i, j); });
    },
    [](auto& s, auto, auto C) {
      auto [i, j] = C.axes();
      s.vectorize(j);  // <- here
      s.parallel(i);
    });

int main() {
  static float a[2 * 2048], c[2 * 2048];
  using rows = std::integral_constant<int, 2>;
  using columns = std::integral_constant<int, 2048>;
  doubled(weft::view(a + 0, rows{}, columns{}), weft::out(c + 0, rows{}, columns{}));
}
