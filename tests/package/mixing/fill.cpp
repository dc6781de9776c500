#include <weft/runtime/tensor.hpp>

void fill(weft::tensor<float, 1>& t) {
  for (int i = 0; i < 3; ++i) t(i) = static_cast<float>(i);
}
