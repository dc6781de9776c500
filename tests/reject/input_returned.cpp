// expect: weft: a what-lambda returns stages that it made, each once
#include <vector>

#include <weft/weft.hpp>

constexpr auto k = weft::kernel<"k">([](auto A) { return A; });

int main() {
  std::vector<float> a(4), c(4);
  k(a, weft::out(c));  // <- here
}
