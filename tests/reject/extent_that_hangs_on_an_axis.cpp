// expect: an_extent_is_made_of_sizes_and_integers
#include <weft/weft.hpp>

constexpr auto k = weft::kernel<"k">([](auto A) {
  return weft::compute<"C">(A.extent(0), [=](auto i) {
    return weft::sum(weft::select(i < 2, A.extent(0), A.extent(1)), [=](auto j) { return A(i, j); });  // <- here
    return weft::sum(A.extent(1), [=](auto j) { return A(i, j); });
  });
});
static_assert(weft::checked<k, weft::arg<float, 2>>);

int main() {}
