// Convolutions under the schedules that the rule for GPUs writes.
#pragma once

#include "codegen/cuda/products_mma.hpp"
#include "weft/expr/boundary.hpp"
#include "weft/ops/conv.hpp"
#include "weft/ops/elementwise.hpp"

namespace weft_test {

/// What becomes of the sums of a convolution: nothing; a bias, the negative ones cut off; then rounded to the inputs' type, too.
enum class epilogue { none, relu, rounded };

template <class T, int D>
gpu_kernel convolved(sequence<std::int64_t> const& x, sequence<std::int64_t> const& w, ops::conv_options<D> const& o = {}, epilogue last = epilogue::none) {
  gpu_kernel k{"conv"};
  auto const a = k.input<T, D + 2>(x);
  auto const b = k.input<T, D + 2>(w);
  bool const first = o.layout == ops::layout::channels_first;
  auto const bias = k.input<float, 1>({first ? w[0] : w[D + 1]});
  auto const y = [&] {
    if constexpr (D == 1) return ops::conv1d(a, b, o);
    else if constexpr (D == 2) return ops::conv2d(a, b, o);
    else return ops::conv3d(a, b, o);
  }();
  if (last == epilogue::none) return k.out(y);
  auto const relu = compute_over<"relu">(shape_of(y), [=](indices<D + 2> const& i) {
    return max(element_at(y, i) + bias(i[first ? 1 : D + 1]), 0.0f);
  });
  if (last == epilogue::relu) return k.out(relu);
  return k.out(ops::cast<T>(relu));
}
/// The border of the image repeated.
inline gpu_kernel convolved_at_edges(std::int64_t size, std::int64_t channels, std::int64_t filters) {
  gpu_kernel k{"conv_edges"};
  auto const x = k.input<float, 3>({size, size, channels});
  auto const w = k.input<float, 4>({3, 3, channels, filters});
  auto const p = repeat_edge(x);
  return k.out(compute<"out">(x.extent(0), x.extent(1), w.extent(3), [=](auto i, auto j, auto f) {
    return sum(3, 3, x.extent(2), [=](auto di, auto dj, auto c) { return p(i + di - 1, j + dj - 1, c) * w(di, dj, c, f); });
  }));
}
/// Zeros around it, said of all dimensions.
template <class T>
gpu_kernel convolved_in_zeros(std::int64_t size, std::int64_t channels, std::int64_t filters) {
  gpu_kernel k{"conv_zeros"};
  auto const x = k.input<T, 3>({size, size, channels});
  auto const w = k.input<T, 4>({3, 3, channels, filters});
  auto const p = constant_exterior(x, T(0.0f));
  return k.out(compute<"out">(x.extent(0), x.extent(1), w.extent(3), [=](auto i, auto j, auto f) {
    return sum(3, 3, x.extent(2), [=](auto di, auto dj, auto c) { return cast<float>(p(i + di - 1, j + dj - 1, c)) * cast<float>(w(di, dj, c, f)); });
  }));
}

constexpr ops::conv_options<2> last_channels(std::int64_t stride = 1, std::int64_t padding = 0, std::int64_t dilation = 1, std::int64_t groups = 1) {
  return {.stride = {stride, stride}, .padding = {padding, padding}, .dilation = {dilation, dilation}, .groups = groups, .layout = ops::layout::channels_last};
}
constexpr ops::conv_options<2> first_channels(std::int64_t stride = 1, std::int64_t padding = 0, std::int64_t groups = 1) {
  return {.stride = {stride, stride}, .padding = {padding, padding}, .groups = groups};
}

/// Named by what is expected: mma, by matrix units; behind, what becomes of the sums is computed where they are, else tiles do not divide; wide:
/// 16 bytes of the image are copied at a time, through tiles that run over its end and zeros at its borders.
inline std::vector<gpu_kernel> ruled_windows() {
  std::vector<gpu_kernel> all;
  auto const add = [&](gpu_kernel k, char const* what, bool reassociate = true) { all.push_back(by_rule_with_units(std::move(k), what, reassociate)); };
  add(convolved<float, 2>({1, 8, 8, 8}, {3, 3, 8, 32}, last_channels(1, 1), epilogue::relu), "behind");
  add(convolved_in_zeros<float>(8, 8, 32), "behind_bitwise", false);
  add(convolved<float, 2>({2, 9, 7, 5}, {3, 3, 5, 18}, last_channels(2, 1), epilogue::relu), "strided");
  add(convolved<float, 2>({1, 4, 8, 8}, {32, 4, 3, 3}, first_channels(1, 1), epilogue::relu), "behind_first");
  add(convolved<float, 2>({2, 20, 6, 6}, {18, 20, 1, 1}, first_channels()), "first_1x1");
  add(convolved<float, 2>({1, 16, 16, 3}, {7, 7, 3, 16}, last_channels(2, 3)), "7x7");
  add(convolved<float, 2>({1, 10, 10, 4}, {3, 3, 4, 16}, last_channels(1, 0, 2)), "dilated");
  add(convolved<float, 1>({2, 3, 21}, {16, 3, 5}, {.padding = {2}}), "1d");
  add(convolved<float, 3>({1, 4, 5, 6, 4}, {2, 2, 2, 4, 16}, {.layout = ops::layout::channels_last}), "3d");
  add(convolved_at_edges(8, 4, 17), "3x3");
  add(convolved<f16, 2>({1, 8, 8, 16}, {3, 3, 16, 32}, last_channels(1, 1), epilogue::rounded), "mma_behind");
  add(convolved<f16, 2>({1, 7, 5, 10}, {3, 3, 10, 19}, last_channels(1, 1), epilogue::rounded), "mma_odd");
  add(convolved<f16, 2>({1, 5, 7, 24}, {3, 3, 24, 24}, last_channels(1, 1)), "mma_wide");
  add(convolved<f16, 2>({1, 8, 8, 8}, {32, 8, 3, 3}, first_channels(1, 1)), "mma_behind_first");
  add(convolved<f16, 2>({1, 16, 16, 3}, {7, 7, 3, 16}, last_channels(2, 3)), "mma_behind_7x7");
  add(convolved<f16, 2>({1, 8, 8, 32}, {1, 1, 32, 32}, last_channels()), "mma_behind_1x1");
  add(convolved_in_zeros<bf16>(8, 16, 16), "mma_behind");
  add(convolved<std::int8_t, 2>({1, 8, 8, 16}, {3, 3, 16, 32}, last_channels(2, 1)), "mma_behind_s8");
  return all;
}

}  // namespace weft_test
