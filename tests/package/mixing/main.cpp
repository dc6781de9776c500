// One half of a program; by_hand.py compiles the halves with different switches.
#include <weft/runtime/tensor.hpp>

void fill(weft::tensor<float, 1>& t);

int main() {
  weft::tensor<float, 1> t(3);
  fill(t);
  return t(2) == 2.0f ? 0 : 1;
}
