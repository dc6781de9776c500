// expect: a_parallel_axis_is_run_by_at_least_1_thread
#include <weft/weft.hpp>

constexpr auto product = [](auto A, auto B) {
  return weft::compute<"C">(A.extent(0), B.extent(1), [=](auto i, auto j) {
    return weft::sum(A.extent(1), [=](auto k) { return A(i, k) * B(k, j); });
  });
};
constexpr auto k = weft::kernel<"k">(product, [](auto& s, auto, auto, auto C) {
  auto [i, j, k] = C.axes();
  s.parallel(i, weft::thread_limit(0));  // <- here
});
static_assert(weft::checked<k, weft::arg<float, 2>, weft::arg<float, 2>>);

int main() {}
