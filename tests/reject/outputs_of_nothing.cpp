// expect: weft: weft::outputs needs a stage
#include <weft/weft.hpp>

constexpr auto none = weft::kernel<"none">([](auto) { return weft::outputs(); });

int main() {
  weft::tensor<float, 1> const a(3);
  none(a);  // <- here
}
