// expect: weft: an output has another element type than the result
#include <vector>

#include <weft/weft.hpp>

constexpr auto doubled = weft::kernel<"doubled">([](auto A) {
  return weft::compute<"C">(A.extent(0), [=](auto i) { return A(i) + A(i); });
});

int main() {
  std::vector<float> a(4), c(4);
  std::vector<int> d(4);
  doubled(a, weft::out(d));  // <- here
  doubled(a, weft::out(c));
}
