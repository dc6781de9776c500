// What moves elements and computes nothing.
#pragma once

#include "weft/expr/boundary.hpp"
#include "weft/ops/layout.hpp"

namespace weft::inline WEFT_ABI {
namespace ops {

/// Dimension d of the result is dimension order[d] of the tensor.
struct permutation {
  int order[8] = {0, 1, 2, 3, 4, 5, 6, 7};
};
/// Source  torch.permute
inline constexpr auto permute = []<class T, int Rank>(expr::tensor<T, Rank> const& x, permutation const& o) {
  shape<Rank> all{};
  std::array<bool, static_cast<std::size_t>(Rank)> taken{};
  for (std::size_t d = 0; d < Rank; ++d) {
    std::size_t const from = detail::dimension(o.order[d], Rank);
    detail::check(!taken[from], "weft::ops::permute: a dimension stands twice in its order");
    taken[from] = true;
    all[d] = x.extent(static_cast<int>(from));
  }
  return compute_over<"permute">(all, [&](auto const& i) {
    indices<Rank> from{};
    for (std::size_t d = 0; d < Rank; ++d) from[detail::dimension(o.order[d], Rank)] = i[d];
    return element_at(x, from);
  });
};
/// The last two dimensions exchanged.
inline constexpr auto transpose = []<class T, int Rank>(expr::tensor<T, Rank> const& x) {
  static_assert(Rank >= 2, "weft::ops::transpose: a matrix has two dimensions or more");
  permutation swapped;
  swapped.order[Rank - 2] = Rank - 1;
  swapped.order[Rank - 1] = Rank - 2;
  return permute(x, swapped);
};
/// `a`, and behind it `b`, along an axis; more than two by nesting.
///
/// Shape   those of both but for the axis are equal, or refused at the call
/// Source  numpy.concatenate
inline constexpr auto concat = []<class T, int Rank>(expr::tensor<T, Rank> const& a, expr::tensor<T, Rank> const& b,
                                                     along const& o = {}) {
  std::size_t const axis = detail::dimension(o.axis, Rank);
  shape<Rank> all = shape_of(a);
  extent const border = all[axis];
  for (std::size_t d = 0; d < Rank; ++d)
    if (d == axis)
      all[d] = border + b.extent(static_cast<int>(d));
    else
      require(all[d] == b.extent(static_cast<int>(d)));
  return compute_over<"concat">(all, [&](auto const& i) {
    auto behind = i;
    behind[axis] = i[axis] - border;
    return select(i[axis] < border, element_at(a, i), element_at(b, behind));
  });
};

/// `{.begin = {0, -3}, .step = {2, 1}}`: per dimension where to begin, in front of which to end, every how many;
/// negative places count from the end. What is not said is the whole dimension.
struct slices {
  static constexpr std::int64_t all = std::int64_t(1) << 40;
  std::int64_t begin[8] = {};
  std::int64_t end[8] = {all, all, all, all, all, all, all, all};
  std::int64_t step[8] = {1, 1, 1, 1, 1, 1, 1, 1};
};
/// Places beyond the tensor are taken for its end. Source  numpy, basic slicing, with steps above 0
inline constexpr auto slice = []<class T, int Rank>(expr::tensor<T, Rank> const& x, slices const& o) {
  shape<Rank> begin{}, all{};
  for (std::size_t d = 0; d < Rank; ++d) {
    detail::check(o.step[d] >= 1, "weft::ops::slice: a step is 1 or more; see ops::flip");
    extent const n = x.extent(static_cast<int>(d));
    auto const place = [&](std::int64_t at) { return at < 0 ? max(n + at, 0) : min(n, at); };
    begin[d] = place(o.begin[d]);
    all[d] = max(place(o.end[d]) - begin[d] + (o.step[d] - 1), 0) / o.step[d];
  }
  return compute_over<"slice">(all, [&](auto from) {
    for (std::size_t d = 0; d < Rank; ++d) from[d] = begin[d] + from[d] * o.step[d];
    return element_at(x, from);
  });
};
/// Backwards along an axis.
inline constexpr auto flip = [](auto const& x, along const& o = {}) {
  return compute_over<"flip">(shape_of(x), [&](auto from) {
    std::size_t const axis = detail::dimension(o.axis, static_cast<int>(from.size()));
    from[axis] = x.extent(static_cast<int>(axis)) - 1 - from[axis];
    return element_at(x, from);
  });
};

/// What is read outside, as in expr/boundary.hpp.
enum class pad_mode : std::uint8_t { constant, edge, wrap, mirror, reflect };  // as in expr/boundary.hpp
/// How many elements stand before and after each dimension, and what they are.
struct padding {
  std::int64_t before[8] = {}, after[8] = {};
  pad_mode mode = pad_mode::constant;
  double value = 0;  // of pad_mode::constant; a number that the elements can have
};
/// Source  numpy.pad, whose `symmetric` is `mirror`
inline constexpr auto pad = []<class T, int Rank>(expr::tensor<T, Rank> const& x, padding const& o) {
  shape<Rank> all = shape_of(x);
  for (std::size_t d = 0; d < Rank; ++d) all[d] = all[d] + (o.before[d] + o.after[d]);
  auto const read = [&](auto const& bounded) {
    return compute_over<"pad">(all, [&](auto const& i) {
      return [&]<std::size_t... D>(std::index_sequence<D...>) {
        return bounded((i[D] - o.before[D])...);
      }(std::make_index_sequence<static_cast<std::size_t>(Rank)>{});
    });
  };
  switch (o.mode) {
    case pad_mode::edge: return read(repeat_edge(x));
    case pad_mode::wrap: return read(wrap(x));
    case pad_mode::mirror: return read(mirror(x));
    case pad_mode::reflect: return read(reflect(x));
    default:
      if constexpr (is_float(dtype_of<T>)) {
        return read(constant_exterior(x, o.value));
      } else {
        auto const whole = static_cast<std::int64_t>(o.value >= -0x1p62 && o.value <= 0x1p62 ? o.value : 0);
        if (static_cast<double>(whole) == o.value) return read(constant_exterior(x, whole));
        // What is no such number becomes one that these elements do not have, which is refused.
        if constexpr (std::is_signed_v<T>) return read(constant_exterior(x, ~0ull));
        else return read(constant_exterior(x, -1));
      }
  }
};

/// The slices of `x` along an axis that `which` names. A place outside of `x` counts as the nearest.
///
/// Shape   `x` with the axis replaced by the dimensions of `which`: 5 x 7 by 2 x 3 along 0 is 2 x 3 x 7
/// Source  numpy.take with mode='clip'; ONNX Gather; an embedding is take(table, tokens, {.axis = 0})
inline constexpr auto take = []<class T, int Rank, class U, int Which>(expr::tensor<T, Rank> const& x,
                                                                       expr::tensor<U, Which> const& which,
                                                                       along const& o = {.axis = 0}) {
  std::size_t const axis = detail::dimension(o.axis, Rank);
  shape<Rank + Which - 1> all{};
  for (std::size_t d = 0; d < all.size(); ++d)
    all[d] = d < axis           ? x.extent(static_cast<int>(d))
             : d < axis + Which ? which.extent(static_cast<int>(d - axis))
                                : x.extent(static_cast<int>(d - Which + 1));
  return compute_over<"take">(all, [&](auto const& i) {
    indices<Which> named{};
    for (std::size_t d = 0; d < Which; ++d) named[d] = i[axis + d];
    auto const place = weft::clamp(element_at(which, named), 0, x.extent(static_cast<int>(axis)) - 1);
    indices<Rank> from{};
    for (std::size_t d = 0; d < Rank; ++d)
      if (d == axis)
        from[d] = as_index(place);
      else
        from[d] = i[d < axis ? d : d + Which - 1];
    return element_at(x, from);
  });
};
/// Each element from its own place along an axis: y(i, j) = x(which(i, j), j) along 0.
///
/// Shape   that of `which`, which but for the axis is that of `x`. A place outside of `x` counts as the nearest
/// Source  torch.gather; ONNX GatherElements
inline constexpr auto gather = []<class T, int Rank, class U>(expr::tensor<T, Rank> const& x,
                                                              expr::tensor<U, Rank> const& which, along const& o = {}) {
  std::size_t const axis = detail::dimension(o.axis, Rank);
  for (std::size_t d = 0; d < Rank; ++d)
    if (d != axis) require(x.extent(static_cast<int>(d)) == which.extent(static_cast<int>(d)));
  return compute_over<"gather">(shape_of(which), [&](auto const& i) {
    auto const place = weft::clamp(element_at(which, i), 0, x.extent(static_cast<int>(axis)) - 1);
    auto from = i;
    from[axis] = as_index(place);
    return element_at(x, from);
  });
};

}  // namespace ops
}  // namespace weft::inline WEFT_ABI
