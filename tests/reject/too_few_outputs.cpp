// expect: weft: give a weft::out(...) for each output of this kernel, or for none
#include <vector>

#include <weft/weft.hpp>

constexpr auto both = weft::kernel<"both">([](auto A) {
  auto B = weft::compute<"B">(A.extent(0), [=](auto i) { return A(i) + 1; });
  auto C = weft::compute<"C">(A.extent(0), [=](auto i) { return A(i) + 2; });
  return weft::outputs(B, C);
});

int main() {
  std::vector<float> a(4), b(4), c(4);
  both(a, weft::out(b));  // <- here
  both(a, weft::out(b), weft::out(c));
}
