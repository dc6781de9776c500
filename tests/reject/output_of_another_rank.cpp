// expect: weft: an output has another rank than the result
#include <vector>

#include <weft/weft.hpp>

constexpr auto doubled = weft::kernel<"doubled">([](auto A) {
  return weft::compute<"C">(A.extent(0), [=](auto i) { return A(i) + A(i); });
});

int main() {
  std::vector<float> a(4), c(4);
  doubled(a, weft::out(c, 2, 2));  // <- here
  doubled(a, weft::out(c));
}
