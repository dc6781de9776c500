// expect: a_number_does_not_fit_the_element_type_that_it_meets__cast_the_tensor_to_a_wider_one
#include <weft/weft.hpp>

// In the body of literal extents, which belongs to no program before it meets A.
constexpr auto k = weft::kernel<"k">([](auto A) {
  return weft::compute<"C">(4, [=](auto i) {
    return weft::clamp(A(i), 0, 70000);  // <- here
    return weft::clamp(A(i), 0, 65504);
  });
});
static_assert(weft::checked<k, weft::arg<weft::f16, 1>>);

int main() {}
