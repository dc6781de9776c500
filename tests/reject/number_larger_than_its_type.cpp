// expect: a_number_does_not_fit_the_element_type_that_it_meets__cast_the_tensor_to_a_wider_one
#include <weft/weft.hpp>

constexpr auto k = weft::kernel<"k">([](auto A) {
  return weft::compute<"C">(A.extent(0), [=](auto i) {
    return weft::max(A(i), 300);  // <- here
    return weft::max(A(i), 200);
  });
});
static_assert(weft::checked<k, weft::arg<std::uint8_t, 1>>);

int main() {}
