// expect: the step of a scan returns the types of its identity
#include <weft/weft.hpp>

constexpr auto smooth = weft::kernel<"smooth">([](auto A) {
  return weft::compute<"H">(A.extent(0), [=](auto t) {
    return weft::scan(weft::up_to(t), 0, [=](auto h) { return h * 0.5f + A(t); });  // <- here
    return weft::scan(weft::up_to(t), 0.f, [=](auto h) { return h * 0.5f + A(t); });
  });
});
static_assert(weft::checked<smooth, weft::arg<float, 1>>);

int main() {}
