// expect: weft: one name per dimension
#include <weft/dim.hpp>

weft::tensor<float, 2> a;
int main() {
  static_cast<void>(weft::view(a, weft::dim<"m">));  // <- here
}
