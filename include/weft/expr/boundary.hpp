// Tensors that can be read outside of their bounds: what stands there is said once, by name.
//
//     constant_exterior(A, 0)   0 0 0 | a b c d | 0 0 0
//     repeat_edge(A)            a a a | a b c d | d d d
//     wrap(A)                   b c d | a b c d | a b c
//     mirror(A)                 c b a | a b c d | d c b      the border is the mirror
//     reflect(A)                d c b | a b c d | c b a      the last element is the mirror
//
//     auto P = weft::repeat_edge(A);
//     return weft::compute<"blur">(A.extent(0), [=](auto i) { return (P(i - 1) + P(i) + P(i + 1)) / 3; });
#pragma once

#include "weft/expr/face.hpp"

namespace weft::inline WEFT_ABI {

namespace detail {
enum class border : std::uint8_t { constant, edge, wrap, mirror, reflect };

/// The place inside of [0, n) whose element stands at `i`; for every i but of `constant`.
template <border B, class Index>
constexpr auto inner_place(Index const& i, extent n) {
  if constexpr (B == border::edge) {
    return clamp(i, 0, n - 1);
  } else if constexpr (B == border::wrap) {
    return i % n;
  } else {
    auto const period = B == border::mirror ? 2 * n : 2 * n - 2;
    auto const there = i % period;
    return min(there, (B == border::mirror ? 2 * n - 1 : period) - there);
  }
}
}  // namespace detail

/// What the functions below return: read like the tensor, at any indices.
template <detail::border B, class T, int Rank>
struct bounded_tensor {
  expr::tensor<T, Rank> inner;
  value<T> exterior{};

  /// The size of dimension `d` of the tensor inside.
  constexpr weft::extent extent(int d) const { return inner.extent(d); }
  /// How many indices it takes.
  static constexpr int rank() { return Rank; }

  /// The element at these indices, or what the border says when they are outside.
  template <detail::subscript... Index>
  constexpr value<T> operator()(Index const&... index) const {
    static_assert(sizeof...(Index) == Rank, "weft: this tensor has another rank: give one index per dimension");
    return [&]<std::size_t... D>(std::index_sequence<D...>) {
      // Made indices first, in order, so that numbering does not hang on the compiler.
      axis_index const places[] = {axis_index{{inner.p, detail::node_as<std::int64_t>(*inner.p, index)}}...};
      if constexpr (B == detail::border::constant) {
        value<bool> const inside = is_inside(places);
        return select(inside, inner(places[D]...), exterior);
      } else {
        axis_index const moved[] = {detail::inner_place<B>(places[D], inner.extent(static_cast<int>(D)))...};
        return inner(moved[D]...);
      }
    }(std::make_index_sequence<Rank>{});
  }

 private:
  constexpr value<bool> is_inside(axis_index const* places) const {
    value<bool> all = 0 <= places[0] && places[0] < inner.extent(0);
    for (int d = 1; d < Rank; ++d) all = all && 0 <= places[d] && places[d] < inner.extent(d);
    return all;
  }
};

/// `exterior`, a number that T has, outside of the tensor.
template <class T, int Rank, detail::plain_number Number>
  requires(Rank > 0)
constexpr bounded_tensor<detail::border::constant, T, Rank> constant_exterior(expr::tensor<T, Rank> const& t, Number exterior) {
  return {t, {{t.p, detail::node_as<T>(*t.p, exterior)}}};
}
/// The nearest element of the tensor.
template <class T, int Rank>
  requires(Rank > 0)
constexpr bounded_tensor<detail::border::edge, T, Rank> repeat_edge(expr::tensor<T, Rank> const& t) {
  return {t};
}
/// The tensor over and over.
template <class T, int Rank>
  requires(Rank > 0)
constexpr bounded_tensor<detail::border::wrap, T, Rank> wrap(expr::tensor<T, Rank> const& t) {
  return {t};
}
/// The tensor and its mirror image in turn, with the outermost element twice (`symmetric` in NumPy).
template <class T, int Rank>
  requires(Rank > 0)
constexpr bounded_tensor<detail::border::mirror, T, Rank> mirror(expr::tensor<T, Rank> const& t) {
  return {t};
}
/// The same with the outermost element once (`reflect` in NumPy, 101 in OpenCV).
template <class T, int Rank>
  requires(Rank > 0)
constexpr bounded_tensor<detail::border::reflect, T, Rank> reflect(expr::tensor<T, Rank> const& t) {
  return {t};
}

}  // namespace weft::inline WEFT_ABI
