// expect-gcc: no matching function for call to
// expect-clang: no matching function for call to
#include <weft/dim.hpp>

float a[4] = {};
int main() {
  static_cast<void>(weft::view(static_cast<float*>(a), weft::dim<"n">));  // <- here
}
