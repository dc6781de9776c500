// expect: weft: the what-lambda returns a stage, or weft::outputs of several
#include <vector>

#include <weft/weft.hpp>

constexpr auto k = weft::kernel<"k">([](auto A) { return A.extent(0); });

int main() {
  std::vector<float> a(4), c(4);
  k(a, weft::out(c));  // <- here
}
