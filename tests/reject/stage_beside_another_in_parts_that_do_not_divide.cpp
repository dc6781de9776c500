// expect: iterations_of_a_parallel_axis_would_share_elements__reorder_or_let_parts_divide
#include <weft/weft.hpp>

constexpr auto both = weft::kernel<"both">(
    [](auto A) {
      auto dx = weft::compute<"dx">(A.extent(0), [=](auto i) { return A(i) + 1; });
      auto dy = weft::compute<"dy">(A.extent(0), [=](auto i) { return A(i) * 2; });
      return weft::outputs(dx, dy);
    },
    [](auto& s, auto, auto dx, auto dy) {
      auto [i] = dx.axes();
      auto [io, ii] = s.split(i, 5);
      auto [iio, iii] = s.split(ii, 3);
      s.parallel(io);
      s.compute_with(dy, iio);  // <- here
    });
static_assert(weft::checked<both, weft::arg<float, 1>>);

int main() {}
