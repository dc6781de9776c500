// expect: weft: where belongs into the body of a reduction
#include <weft/weft.hpp>

constexpr auto k = weft::kernel<"k">([](auto A) {
  [[maybe_unused]] auto C = weft::compute<"C">(A.extent(0), [=](auto i) { return weft::where(A(i) > 0, A(i)); });  // <- here
  return weft::compute<"B">(A.extent(0), [=](auto i) { return A(i); });
});
static_assert(weft::checked<k, weft::arg<float, 1>>);

int main() {}
