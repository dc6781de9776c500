// expect: weft: the what-lambda cannot be called with these inputs
#include <vector>

#include <weft/weft.hpp>

constexpr auto doubled = weft::kernel<"doubled">([](auto A) {
  return weft::compute<"C">(A.extent(0), [=](auto i) { return A(i) + A(i); });
});

int main() {
  std::vector<float> a(4), c(4);
  doubled(a, a, weft::out(c));  // <- here
  doubled(a, weft::out(c));
}
