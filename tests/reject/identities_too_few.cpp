// expect: weft: a reduction has as many identities as its body has values
#include <weft/weft.hpp>

constexpr auto k = weft::kernel<"k">([](auto A) {
  return weft::compute<"B">(1, [=](auto) {
    [[maybe_unused]] auto x = weft::reduce(0, [](auto a, auto) { return a; }, A.extent(0), [=](auto i) { return weft::values(A(i), i); });  // <- here
    return weft::sum(A.extent(0), [=](auto i) { return A(i); });
  });
});
static_assert(weft::checked<k, weft::arg<float, 1>>);

int main() {}
