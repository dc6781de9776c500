// expect: weft: an output cannot be constant
#include <vector>

#include <weft/weft.hpp>

constexpr auto doubled = weft::kernel<"doubled">([](auto A) {
  return weft::compute<"C">(A.extent(0), [=](auto i) { return A(i) + A(i); });
});

int main() {
  std::vector<float> a(4), c(4);
  std::vector<float> const constant(4);
  doubled(a, weft::out(constant));  // <- here
  doubled(a, weft::out(c));
}
