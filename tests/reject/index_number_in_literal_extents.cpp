// expect: a_number_does_not_fit_the_element_type_that_it_meets__cast_the_tensor_to_a_wider_one
#include <weft/weft.hpp>

constexpr auto k = weft::kernel<"k">([](auto A) {
  return weft::compute<"C">(4, [=](auto i) {
    auto const far = i + ~std::uint64_t(0);
    return A(far);  // <- here
    return A(i);
  });
});
static_assert(weft::checked<k, weft::arg<float, 1>>);

int main() {}
