// expect: weft: the name of a dim has one to eight letters, digits or _, no digit first
#include <weft/dim.hpp>

float a[4] = {};
int main(int argc, char**) {
  static_cast<void>(argc);
  static_cast<void>(weft::view(a, weft::dim<"elements_of_a">(argc)));  // <- here
}
