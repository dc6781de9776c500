// expect: a_reduced_axis_runs_outside_of_this_one__no_element_is_complete_there
#include <weft/weft.hpp>

constexpr auto product = [](auto A, auto B) {
  auto P = weft::compute<"P">(A.extent(0), B.extent(1), [=](auto i, auto j) {
    return weft::sum(A.extent(1), [=](auto k) { return A(i, k) * B(k, j); });
  });
  return weft::compute<"C">(A.extent(0), B.extent(1), [=](auto i, auto j) { return weft::max(P(i, j), 0); });
};
constexpr auto k =
    weft::kernel<"k">(product, []([[maybe_unused]] auto& s, auto, auto, [[maybe_unused]] auto P, auto C) {
      auto [i, j, k] = P.axes();
      s.reorder(k, i, j);
      s.reverse_compute_inline(C);  // <- here
    });
static_assert(weft::checked<k, weft::arg<float, 2>, weft::arg<float, 2>>);

int main() {}
