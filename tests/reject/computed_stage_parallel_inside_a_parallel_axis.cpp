// expect: a_parallel_axis_cannot_run_inside_a_parallel_axis_of_another_stage
#include <weft/weft.hpp>

constexpr auto product = [](auto A, auto B) {
  return weft::compute<"C">(A.extent(0), B.extent(1), [=](auto i, auto j) {
    return weft::sum(A.extent(1), [=](auto k) { return A(i, k) * B(k, j); });
  });
};
constexpr auto k = weft::kernel<"k">(product, [](auto& s, auto, auto, auto C) {
  auto acc = s.cache_write(C);
  s.parallel(C.axes()[0]);
  s.compute_at(acc, C.axes()[0]);
  s.parallel(acc.axes()[1]);  // <- here
});
static_assert(weft::checked<k, weft::arg<float, 2>, weft::arg<float, 2>>);

int main() {}
