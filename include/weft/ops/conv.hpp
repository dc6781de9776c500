// Convolutions (as neural networks say: the kernel is not turned round) in one to three dimensions.
#pragma once

#include "weft/ops/layout.hpp"

namespace weft::inline WEFT_ABI {
namespace ops {

namespace detail {
template <int D>
constexpr std::array<std::int64_t, static_cast<std::size_t>(D)> ones() {
  std::array<std::int64_t, static_cast<std::size_t>(D)> all{};
  for (std::int64_t& one : all) one = 1;
  return all;
}
}  // namespace detail

/// `{.stride = {2, 2}, .padding = {1, 1}}`; padding is the same before and after. Terms that lie in it are left out of the sum, so that no weight
/// shows there, not even one that is infinite.
template <int D>
struct conv_options {
  using numbers = std::array<std::int64_t, static_cast<std::size_t>(D)>;
  numbers stride = detail::ones<D>();
  numbers padding{};
  numbers dilation = detail::ones<D>();
  std::int64_t groups = 1;  // of channels: each sees its own part of the input's
  ops::layout layout = ops::layout::channels_first;
};

namespace detail {
/// A window that moves over the spatial dimensions of `x`.
template <class T, int Rank>
struct window {
  static constexpr std::size_t dims = Rank - 2;
  expr::tensor<T, Rank> x;
  std::array<std::int64_t, dims> stride, padding, dilation;
  std::size_t first;  // spatial dimension

  constexpr window(expr::tensor<T, Rank> const& of, conv_options<Rank - 2> const& o)
      : x(of),
        stride(o.stride),
        padding(o.padding),
        dilation(o.dilation),
        first(o.layout == layout::channels_first ? 2 : 1) {
    for (std::size_t d = 0; d < dims; ++d)
      check(stride[d] >= 1 && dilation[d] >= 1 && padding[d] >= 0,
            "weft::ops: strides and dilations are 1 or more in each dimension, padding is not negative");
  }
  /// How many places it has along spatial dimension `d`, being `size` long.
  constexpr extent places(std::size_t d, extent size) const {
    extent const n = x.extent(static_cast<int>(first + d));
    extent const room = padding[d] == 0 ? n : n + 2 * padding[d];
    extent const reach = dilation[d] == 1 ? size : (size - 1) * dilation[d] + 1;
    require(reach <= room);
    return (room - reach) / stride[d] + 1;
  }
  /// `i`, with the place in the result, becomes that in `x` of the window's element `k`.
  template <class Offsets>
  constexpr indices<Rank> at(indices<Rank> i, Offsets const& k, std::size_t first_offset) const {
    for (std::size_t d = 0; d < dims; ++d)
      i[first + d] = i[first + d] * stride[d] + k[first_offset + d] * dilation[d] - padding[d];
    return i;
  }
  /// Whether that is in `x`, and not in the padding.
  constexpr value<bool> holds(indices<Rank> const& i) const {
    value<bool> all{{x.p, x.p->literal(dtype::boolean, 1)}};
    bool any = false;
    for (std::size_t d = 0; d < dims; ++d) {
      if (padding[d] == 0 && stride[d] == 1) continue;  // its places say so
      axis_index const at = i[first + d];
      value<bool> const inside = 0 <= at && at < x.extent(static_cast<int>(first + d));
      all = any ? all && inside : inside;
      any = true;
    }
    return all;
  }
};

template <fixed_string Name, class T, class U, int Rank>
constexpr auto convolution(expr::tensor<T, Rank> const& x, expr::tensor<U, Rank> const& w,
                           conv_options<Rank - 2> const& o) {
  constexpr int dims = Rank - 2;
  check(o.groups >= 1, "weft::ops: a convolution has 1 group or more");
  bool const channels_first = o.layout == layout::channels_first;
  int const channel = channels_first ? 1 : Rank - 1;
  // Dimensions of w: channels made, channels read, the first of the kernel's size.
  int const to = channels_first ? 0 : Rank - 1, from = channels_first ? 1 : dims, size = channels_first ? 2 : 0;
  window<T, Rank> const moving(x, o);
  require(x.extent(channel) == (o.groups == 1 ? w.extent(from) : w.extent(from) * o.groups));
  if (o.groups > 1) require(w.extent(to) % o.groups == 0);
  shape<Rank> all = shape_of(x);
  all[static_cast<std::size_t>(channel)] = w.extent(to);
  shape<dims + 1> summed{w.extent(from)};
  for (std::size_t d = 0; d < dims; ++d) {
    summed[d + 1] = w.extent(size + static_cast<int>(d));
    all[moving.first + d] = moving.places(d, summed[d + 1]);
  }
  return compute_over<Name>(all, [=](indices<Rank> const& i) {
    axis_index const c = i[static_cast<std::size_t>(channel)];
    return reduce_over(sums, summed, [=](auto k) {
      indices<Rank> there = moving.at(i, k, 1), weight{};
      there[static_cast<std::size_t>(channel)] =
          o.groups == 1 ? k[0] : c / (w.extent(to) / o.groups) * w.extent(from) + k[0];
      weight[static_cast<std::size_t>(to)] = c;
      weight[static_cast<std::size_t>(from)] = k[0];
      for (std::size_t d = 0; d < dims; ++d) weight[static_cast<std::size_t>(size) + d] = k[d + 1];
      return where(moving.holds(there), element_at(x, there) * element_at(w, weight));
    });
  });
}
}  // namespace detail

/// The convolution of `x` with the kernels `w`.
///
/// Shape   channels first: N x C x spatial with O x C / groups x kernel gives N x O x spatial';
///         channels last: N x spatial x C with kernel x C / groups x O gives N x spatial' x O;
///         spatial' = (spatial + 2 padding - dilation (kernel - 1) - 1) / stride + 1, rounded down
/// Errors  argument_error at a call whose channels do not fit the groups, or whose kernel exceeds the padded input
/// Source  torch.nn.functional.conv2d; channels last: tf.nn.conv2d
inline constexpr auto conv1d = [](auto const& x, auto const& w, conv_options<1> const& o = {}) {
  if constexpr (detail::are_images<1, decltype(x), decltype(w)>()) return detail::convolution<"conv1d">(x, w, o);
};
/// As conv1d, over two dimensions.
inline constexpr auto conv2d = [](auto const& x, auto const& w, conv_options<2> const& o = {}) {
  if constexpr (detail::are_images<2, decltype(x), decltype(w)>()) return detail::convolution<"conv2d">(x, w, o);
};
/// As conv1d, over three dimensions.
inline constexpr auto conv3d = [](auto const& x, auto const& w, conv_options<3> const& o = {}) {
  if constexpr (detail::are_images<3, decltype(x), decltype(w)>()) return detail::convolution<"conv3d">(x, w, o);
};

/// Each channel convolved with a kernel of its own; `groups` is not looked at.
///
/// Shape   channels first: N x C x H x W with C x kernel; channels last: N x H x W x C with kernel x C
/// Source  Howard et al., MobileNets, 2017; conv2d with groups = C does the same with C x 1 x kernel
inline constexpr auto depthwise_conv2d = []<class T, class U>(expr::tensor<T, 4> const& x, expr::tensor<U, 3> const& w,
                                                              conv_options<2> const& o = {}) {
  bool const channels_first = o.layout == layout::channels_first;
  std::size_t const channel = channels_first ? 1 : 3;
  int const size = channels_first ? 1 : 0;
  detail::window<T, 4> const moving(x, o);
  require(x.extent(static_cast<int>(channel)) == w.extent(channels_first ? 0 : 2));
  shape<2> const kernel{w.extent(size), w.extent(size + 1)};
  shape<4> all = shape_of(x);
  for (std::size_t d = 0; d < 2; ++d) all[moving.first + d] = moving.places(d, kernel[d]);
  return compute_over<"depthwise_conv2d">(all, [=](auto i) {
    return reduce_over(sums, kernel, [=](auto k) {
      auto const there = moving.at(i, k, 0);
      axis_index const c = i[channel];
      return where(moving.holds(there), element_at(x, there) * (channels_first ? w(c, k[0], k[1]) : w(k[0], k[1], c)));
    });
  });
};

}  // namespace ops
}  // namespace weft::inline WEFT_ABI
