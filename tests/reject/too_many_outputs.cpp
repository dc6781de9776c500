// expect: weft: give a weft::out(...) for each output of this kernel, or for none
#include <vector>

#include <weft/weft.hpp>

constexpr auto doubled = weft::kernel<"doubled">([](auto A) {
  return weft::compute<"C">(A.extent(0), [=](auto i) { return A(i) + A(i); });
});

int main() {
  std::vector<float> a(4), c(4);
  doubled(a, weft::out(c), weft::out(c));  // <- here
  doubled(a, weft::out(c));
}
