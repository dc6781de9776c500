// expect: weft: this tensor has another rank: give one index per dimension
#include <weft/weft.hpp>

constexpr auto k = weft::kernel<"k">([](auto A) {
  auto P = weft::repeat_edge(A);
  return weft::compute<"E">(A.extent(0), [=](auto i) {
    [[maybe_unused]] auto x = P(i, i);  // <- here
    return A(i);
  });
});
static_assert(weft::checked<k, weft::arg<float, 1>>);

int main() {}
