// expect: weft: a stage uses an axis of another stage
#include <weft/weft.hpp>

constexpr auto k = weft::kernel<"k">([](auto A) {
  weft::axis_index kept{};
  auto B = weft::compute<"B">(A.extent(0), [=, &kept](auto i) {
    kept = i;
    return A(i);
  });
  return weft::compute<"C">(A.extent(0), [=](auto i) { return B(i) + A(kept); });
});
static_assert(weft::checked<k, weft::arg<float, 1>>);  // <- here

int main() {}
