// expect: memory_on_the_stack_has_at_most_64_KiB__compute_the_stage_inside_a_loop
#include <weft/weft.hpp>

constexpr auto table = [](auto A) {
  auto T = weft::compute<"T">(129, 128, [=](auto i, auto j) { return A(i) * A(j); });
  return weft::compute<"C">(
      A.extent(0), [=](auto i) { return weft::sum(129, 128, [=](auto k, auto l) { return T(k, l) * A(i); }); });
};
constexpr auto k = weft::kernel<"k">(table, [](auto& s, auto, auto T, auto) {
  s.set_scope(T, weft::scope::stack);  // <- here
});
static_assert(weft::checked<k, weft::arg<float, 1>>);

int main() {}
