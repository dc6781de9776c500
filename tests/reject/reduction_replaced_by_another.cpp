// expect: a_reduction_cannot_be_inlined__use_compute_at
#include <weft/weft.hpp>

constexpr auto sums = [](auto A) {
  auto P = weft::compute<"P">(A.extent(0), [=](auto i) { return weft::sum(A.extent(1), [=](auto k) { return A(i, k); }); });
  return weft::compute<"C">(A.extent(0), [=](auto i) { return weft::max(A.extent(1), [=](auto k) { return A(i, k) - P(i); }); });
};
constexpr auto k = weft::kernel<"k">(sums, []([[maybe_unused]] auto& s, auto, [[maybe_unused]] auto P, auto C) {
  s.reverse_compute_inline(C);  // <- here
});
static_assert(weft::checked<k, weft::arg<float, 2>>);

int main() {}
