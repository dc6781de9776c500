// first: weft: the lambda given to compute or to a reduction must return an expression
// whole: the stage would have no body
#include <weft/weft.hpp>

constexpr auto ones = weft::kernel<"ones">([](auto A) {
  return weft::compute<"C">(A.extent(0), [=](auto) { return 1.0f; });  // <- here
});
static_assert(weft::checked<ones, weft::arg<float, 1>>);

int main() {}
