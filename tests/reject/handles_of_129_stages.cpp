// expect: weft: a how-lambda is given handles of at most 128 stages
#include <weft/weft.hpp>

template <int Stages>
constexpr auto chain(auto x) {
  auto const y = weft::compute<"y">(x.extent(0), [=](auto i) { return x(i) + 1; });
  if constexpr (Stages == 1) return y;
  else return chain<Stages - 1>(y);
}
constexpr auto too_long = weft::kernel<"too_long">([](auto x) { return chain<129>(x); }, [](auto&, auto, auto...) {});
static_assert(weft::checked<too_long, weft::arg<float, 1>>);  // <- here

int main() {}
