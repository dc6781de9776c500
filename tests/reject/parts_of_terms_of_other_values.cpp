// expect: weft: parts are joined as terms are: of weft::any_order a term has as many values as there are identities
#include <weft/weft.hpp>

constexpr auto k = weft::kernel<"k">([](auto A) {
  return weft::compute<"B">(1, [=](auto) {
    [[maybe_unused]] auto x = weft::reduce(weft::values(0.f, 0.f), weft::any_order([](auto a, auto b) { return weft::values(weft::get<0>(a) + b, weft::get<1>(a)); }), A.extent(0), [=](auto i) { return A(i); });  // <- here
    return weft::sum(A.extent(0), [=](auto i) { return A(i); });
  });
});
static_assert(weft::checked<k, weft::arg<float, 1>>);

int main() {}
