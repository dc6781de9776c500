// expect: a_reduction_axis_cannot_run_in_parallel__use_rfactor
#include <weft/weft.hpp>

// Threads would square the sums of the others' squares.
constexpr auto sums = [](auto A) {
  auto D = weft::compute<"D">(A.extent(0), A.extent(1), [=](auto i, auto k) { return A(i, k) - 1.0f; });
  return weft::compute<"R">(A.extent(0), [=](auto i) { return weft::sum(A.extent(1), [=](auto k) { return D(i, k) * D(i, k); }); });
};
constexpr auto k = weft::kernel<"k">(sums, [](auto& s, auto, auto, auto R) {
  auto [i, k] = R.axes();
  static_cast<void>(i), static_cast<void>(k);
  s.bind(k, weft::thread_axis::thread_x);  // <- here
});
static_assert(weft::checked<k, weft::arg<float, 2>>);

int main() {}
