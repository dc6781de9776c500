// expect: a_stage_that_runs_inside_another_has_no_copy_of_its_own__specialize_that_one
#include <weft/weft.hpp>

constexpr auto product = [](auto A, auto B) {
  return weft::compute<"C">(A.extent(0), B.extent(1), [=](auto i, auto j) {
    return weft::sum(A.extent(1), [=](auto k) { return A(i, k) * B(k, j); });
  });
};
constexpr auto k = weft::kernel<"k">(product, [](auto& s, auto, [[maybe_unused]] auto B, auto C) {
  auto [i, j, k] = C.axes();
  auto copy = s.cache_read(B, C);
  auto [p, q] = copy.axes();
  s.specialize(s.extent(q) % 8 == 0);
  s.compute_at(copy, i);  // <- here
});
static_assert(weft::checked<k, weft::arg<float, 2>, weft::arg<float, 2>>);

int main() {}
