// The program of docs/ops.md, as it stands there; docs/snippets.py compares them.
#include <weft/weft.hpp>

#include <weft/ops.hpp>

inline constexpr auto softmax = weft::kernel<"softmax">(weft::ops::softmax);

inline constexpr auto block = weft::kernel<"block">([](auto x, auto w, auto bias) {
  auto const y = weft::ops::conv2d(x, w, {.stride = {2, 2}, .padding = {1, 1}});
  return weft::ops::relu(weft::ops::add(y, bias));  // bias: O x 1 x 1
});

static_assert(weft::checked<softmax, weft::arg<float, 2>>);
static_assert(weft::checked<block, weft::arg<float, 4>, weft::arg<float, 4>, weft::arg<float, 3>>);

int main() {}
