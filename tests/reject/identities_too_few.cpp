// expect: weft: the combiner of a reduction returns the types that it takes; cast what it returns, and have as many identities
#include <weft/weft.hpp>

constexpr auto k = weft::kernel<"k">([](auto A) {
  return weft::compute<"B">(1, [=](auto) {
    [[maybe_unused]] auto x = weft::reduce(0, [](auto a, auto b) { return weft::values(a, weft::get<1>(b)); }, A.extent(0), [=](auto i) { return weft::values(A(i), i); });  // <- here
    return weft::sum(A.extent(0), [=](auto i) { return A(i); });
  });
});
static_assert(weft::checked<k, weft::arg<float, 1>>);

int main() {}
