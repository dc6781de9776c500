// expect: the_stage_is_computed_inside_another__cache_read_it_before_compute_at
#include <weft/weft.hpp>

constexpr auto product = [](auto A, auto B) {
  auto C = weft::compute<"C">(A.extent(0), B.extent(1), [=](auto i, auto j) {
    return weft::sum(A.extent(1), [=](auto k) { return A(i, k) * B(k, j); });
  });
  return weft::compute<"D">(A.extent(0), B.extent(1), [=](auto i, auto j) { return C(i, j) + B(i, j); });
};
constexpr auto k = weft::kernel<"k">(product, []([[maybe_unused]] auto& s, [[maybe_unused]] auto A, [[maybe_unused]] auto B, auto C, auto D) {
  static_cast<void>(D);
  auto copy = s.cache_read(A, C);
  s.compute_at(copy, C.axes()[0]);
  s.cache_read(copy, C);  // <- here
});
static_assert(weft::checked<k, weft::arg<float, 2>, weft::arg<float, 2>>);

int main() {}
