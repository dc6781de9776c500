// expect: a_number_does_not_fit_the_element_type_that_it_meets__cast_the_tensor_to_a_wider_one
#include <weft/weft.hpp>

constexpr auto k = weft::kernel<"k">([](auto A) {
  return weft::compute<"B">(A.extent(0), [=](auto i) {
    return weft::constant_exterior(A, 300)(i - 1);  // <- here
    return weft::constant_exterior(A, 30)(i - 1);
  });
});
static_assert(weft::checked<k, weft::arg<std::uint8_t, 1>>);

int main() {}
