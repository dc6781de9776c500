// expect: a_body_that_names_no_input_has_no_program__start_from_an_extent_of_an_input
#include <weft/weft.hpp>

// whole: the lambda would return nothing
constexpr auto k = weft::kernel<"k">([](auto) {
  return weft::compute<"C">(4, [](auto i) { return weft::cast<float>(i); });  // <- here
});
static_assert(weft::checked<k, weft::arg<float, 1>>);

int main() {}
