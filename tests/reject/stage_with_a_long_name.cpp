// expect: weft: the name of a stage has at most 30 characters
#include <weft/weft.hpp>

constexpr auto doubled = weft::kernel<"doubled">([](auto A) {
  auto const B = weft::compute<"the_name_has_just_30_character">(A.extent(0), [=](auto i) { return A(i) + A(i); });
  auto const C = weft::compute<"a_name_of_exactly_31_characters">(A.extent(0), [=](auto i) { return B(i); });  // <- here
  return B;
});
static_assert(weft::checked<doubled, weft::arg<float, 1>>);

int main() {}
