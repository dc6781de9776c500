// Normalisations. They compute in f32 (f64 for itself); variances in two passes, the mean first and then the squares of
// what is left, so that nothing is cancelled.
#pragma once

#include "weft/ops/layout.hpp"

namespace weft::inline WEFT_ABI {
namespace ops {

/// `epsilon` is added to the variance, or to the mean square, under the root.
struct norm_options {
  int axis = -1;
  double epsilon = 1e-5;
};
namespace detail {
inline constexpr auto sums_of_squares = [](auto const& extent, auto const& element) {
  return sum(extent, [&](auto k) {
    auto const v = element(k);
    return v * v;
  });
};
}  // namespace detail

/// (x - mean) / sqrt(variance + epsilon) * weight + bias; mean and variance (over n) along an axis.
///
/// Shape   that of `x`; weight and bias are broadcast against it: N elements each for a last axis of N
/// Source  Ba, Kiros, Hinton: Layer Normalization, 2016; torch.nn.functional.layer_norm
/// Stages  total, centred, squares, layer_norm
inline constexpr auto layer_norm = [](auto const& x, auto const& weight, auto const& bias, norm_options const& o = {}) {
  auto const n = detail::count_along(x, o.axis);
  auto const total = detail::reduced<"total">(x, o.axis, sums);
  auto const centred = elementwise<"centred">([](auto v, auto t, auto m) { return v - t / m; }, x, total, n);
  auto const squares = detail::reduced<"squares">(centred, o.axis, detail::sums_of_squares);
  return elementwise<"layer_norm">(
      [=](auto v, auto s, auto m, auto w, auto b) { return v * weft::rsqrt(s / m + o.epsilon) * w + b; }, centred,
      squares, n, weight, bias);
};
/// x / sqrt(mean of squares + epsilon) * weight, along an axis.
///
/// Shape   that of `x`; weight is broadcast against it
/// Source  Zhang, Sennrich: Root Mean Square Layer Normalization, 2019
/// Stages  squares, rms_norm
inline constexpr auto rms_norm = [](auto const& x, auto const& weight, norm_options const& o = {}) {
  auto const squares = detail::reduced<"squares">(x, o.axis, detail::sums_of_squares);
  return elementwise<"rms_norm">([=](auto v, auto s, auto m, auto w) { return v * weft::rsqrt(s / m + o.epsilon) * w; },
                                 x, squares, detail::count_along(x, o.axis), weight);
};

/// `epsilon` is added to the variance.
struct batch_norm_options {
  double epsilon = 1e-5;
  ops::layout layout = ops::layout::channels_first;
};
/// (x - mean) / sqrt(variance + epsilon) * weight + bias, with the mean and variance that training left per channel.
///
/// Shape   N x C x ... (or N x ... x C) and four times C give the shape of `x`
/// Source  Ioffe, Szegedy: Batch Normalization, 2015; torch.nn.functional.batch_norm with training=False
inline constexpr auto batch_norm = []<class T, int Rank>(expr::tensor<T, Rank> const& x, auto const& mean,
                                                         auto const& variance, auto const& weight, auto const& bias,
                                                         batch_norm_options const& o = {}) {
  std::size_t const channel = o.layout == layout::channels_first ? 1 : Rank - 1;
  for (extent const& c : {mean.extent(0), variance.extent(0), weight.extent(0), bias.extent(0)})
    require(c == x.extent(static_cast<int>(channel)));
  return compute_over<"batch_norm">(shape_of(x), [&](auto const& i) {
    axis_index const c = i[channel];
    return (element_at(x, i) - mean(c)) * weft::rsqrt(variance(c) + o.epsilon) * weight(c) + bias(c);
  });
};

}  // namespace ops
}  // namespace weft::inline WEFT_ABI
