// expect: a_scan_is_along_an_axis_of_its_own_stage
#include <weft/weft.hpp>

constexpr auto later = weft::kernel<"later">([](auto A) {
  return weft::compute<"C">(A.extent(0), [=](auto t) {
    return weft::sum(weft::up_to(t + 1), [=](auto k) { return A(k); });  // <- here
    return weft::sum(weft::up_to(t), [=](auto k) { return A(k); });
  });
});
static_assert(weft::checked<later, weft::arg<float, 1>>);

int main() {}
