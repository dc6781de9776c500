// expect: an_element_of_a_scan_hangs_on_the_axis_itself__use_its_own_index
#include <weft/weft.hpp>

constexpr auto weighted = weft::kernel<"weighted">([](auto A) {
  return weft::compute<"C">(A.extent(0), [=](auto t) {
    return weft::sum(weft::up_to(t), [=](auto k) { return A(k) * A(t); });  // <- here
    return weft::sum(weft::up_to(t), [=](auto k) { return A(k) * A(k); });
  });
});
static_assert(weft::checked<weighted, weft::arg<float, 1>>);

int main() {}
