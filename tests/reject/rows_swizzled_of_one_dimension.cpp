// expect: rows_are_swizzled__the_stage_has_two_dimensions_or_more
#include <weft/weft.hpp>

constexpr auto twice = [](auto A) {
  auto half = weft::compute<"half">(A.extent(0), [=](auto i) { return A(i) * 0.5f; });
  return weft::compute<"B">(A.extent(0), [=](auto i) { return half(i) + half(i); });
};
constexpr auto k = weft::kernel<"k">(twice, [](auto& s, auto, auto half, auto) {
  s.swizzle(half);  // <- here
});
static_assert(weft::checked<k, weft::arg<float, 1>>);

int main() {}
