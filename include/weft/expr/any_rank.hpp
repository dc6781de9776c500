// For code that is written once for tensors of any rank: extents and indices as arrays.
//
//     return weft::compute_over<"y">(weft::shape_of(x), [=](auto i) { return weft::element_at(x, i) * 2; });
#pragma once

#include <array>

#include "weft/expr/compute.hpp"

namespace weft::inline WEFT_ABI {

/// The extents of a tensor of `Rank` dimensions.
template <int Rank>
using shape = std::array<extent, static_cast<std::size_t>(Rank)>;
/// The indices of one of its elements.
template <int Rank>
using indices = std::array<axis_index, static_cast<std::size_t>(Rank)>;

/// All extents of `t`.
template <class T, int Rank>
constexpr shape<Rank> shape_of(expr::tensor<T, Rank> const& t) {
  shape<Rank> all{};
  for (int d = 0; d < Rank; ++d) all[static_cast<std::size_t>(d)] = t.extent(d);
  return all;
}
/// A number as an extent, to stand among those of `t`.
template <class T, int Rank>
constexpr extent literal_extent(expr::tensor<T, Rank> const& t, std::int64_t n) {
  return {{t.p, t.p->literal(dtype::i64, n)}};
}
/// An integer that is read from a tensor, as an index to stand among others.
template <std::integral T>
constexpr axis_index as_index(value<T> place) {
  return {{place.p, detail::node_as<std::int64_t>(*place.p, place)}};
}
/// The element of `t` there.
template <class T, int Rank>
constexpr value<T> element_at(expr::tensor<T, Rank> const& t, indices<Rank> const& at) {
  return [&]<std::size_t... D>(std::index_sequence<D...>) {
    return t(at[D]...);
  }(std::make_index_sequence<static_cast<std::size_t>(Rank)>{});
}
/// `compute` whose body takes its indices as one array.
template <fixed_string Name, std::size_t Rank, class Body>
constexpr auto compute_over(std::array<extent, Rank> const& extents, Body const& body) {
  return [&]<std::size_t... D>(std::index_sequence<D...>) {
    return compute<Name>(extents[D]..., [&](auto... i) { return body(std::array<axis_index, Rank>{i...}); });
  }(std::make_index_sequence<Rank>{});
}
/// A reduction likewise: `reduce_over(sums, {K, L}, [=](auto k) { return A(k[0], k[1]); })`, where `sums` calls
/// weft::sum with what it is given.
template <class Reduce, std::size_t Rank, class Body>
constexpr auto reduce_over(Reduce const& reduce, std::array<extent, Rank> const& extents, Body const& body) {
  return [&]<std::size_t... D>(std::index_sequence<D...>) {
    return reduce(extents[D]..., [&](auto... k) { return body(std::array<axis_index, Rank>{k...}); });
  }(std::make_index_sequence<Rank>{});
}

/// weft::sum for `reduce_over`.
inline constexpr auto sums = [](auto const&... extents_and_body) { return sum(extents_and_body...); };
/// weft::prod for `reduce_over`.
inline constexpr auto products = [](auto const&... extents_and_body) { return prod(extents_and_body...); };
/// weft::max for `reduce_over`.
inline constexpr auto maxima = [](auto const&... extents_and_body) { return max(extents_and_body...); };
/// weft::min for `reduce_over`.
inline constexpr auto minima = [](auto const&... extents_and_body) { return min(extents_and_body...); };

}  // namespace weft::inline WEFT_ABI
