// expect: there_is_no_such_axis_in_a_tensor_of_this_rank
#include <weft/weft.hpp>

#include <weft/ops.hpp>

constexpr auto k = weft::kernel<"k">([](auto x) {
  [[maybe_unused]] auto y = weft::ops::softmax(x, {.axis = 2});  // <- here
  return weft::ops::relu(x);
});
static_assert(weft::checked<k, weft::arg<float, 2>>);

int main() {}
