// expect: a_number_does_not_fit_the_element_type_that_it_meets__cast_the_tensor_to_a_wider_one
#include <weft/weft.hpp>

constexpr auto k = weft::kernel<"k">([](auto A) {
  return weft::compute<"B">(A.extent(0), [=](auto) {
    return weft::reduce(300, [](auto x, auto y) { return weft::max(x, y); }, A.extent(0), [=](auto k) { return A(k); });  // <- here
    return weft::reduce(30, [](auto x, auto y) { return weft::max(x, y); }, A.extent(0), [=](auto k) { return A(k); });
  });
});
static_assert(weft::checked<k, weft::arg<std::uint8_t, 1>>);

int main() {}
