// expect: the_stage_must_read_that_one_at_its_own_index_alone
#include <weft/weft.hpp>

constexpr auto maps = [](auto x) {
  auto P = weft::compute<"P">(x.extent(0), [=](auto i) { return x(i) * x(i); });
  return weft::compute<"C">(x.extent(0) - 1, [=](auto i) { return P(i) + P(i + 1); });
};
constexpr auto k = weft::kernel<"k">(maps, []([[maybe_unused]] auto& s, auto, [[maybe_unused]] auto P, auto C) {
  s.reverse_compute_inline(C);  // <- here
});
static_assert(weft::checked<k, weft::arg<float, 1>>);

int main() {}
