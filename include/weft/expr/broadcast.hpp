// Tensors of different shapes, element by element, by NumPy's rule.
#pragma once

#include "weft/expr/any_rank.hpp"

namespace weft::inline WEFT_ABI {

/// The shape in which tensors meet: shapes stand below each other, the last dimensions aligned; where extents differ,
/// one of them is 1 and repeats. Which it is, is known at the call: a pair of others is refused there.
///
/// Source  NumPy manual, "Broadcasting"
template <int Rank>
struct broadcast_shape {
  shape<Rank> extents{};
  std::array<bool, static_cast<std::size_t>(Rank)> known{}, mixed{};

  /// Lets in the first `Count` dimensions of `t`; all tensors, before one is read.
  template <int Count, class T, int R>
  constexpr void meet(expr::tensor<T, R> const& t) {
    for (int d = 0; d < Count; ++d) {
      auto const at = static_cast<std::size_t>(Rank - Count + d);
      extent const e = t.extent(d), all = extents[at];
      if (!known[at]) {
        extents[at] = e;
        known[at] = true;
        continue;
      }
      if (e.id == all.id) continue;
      mixed[at] = true;
      if (is_one(e)) continue;
      if (!is_one(all)) require(all == e || all == 1 || e == 1);
      extents[at] = is_one(all) ? e : select(all == 1, e, all);
    }
  }
  /// Of the element that stands at `i`: the first `Count` indices into `t`.
  template <int Count, class T, int R>
  constexpr indices<Count> indices_of(expr::tensor<T, R> const& t, indices<Rank> const& i) const {
    indices<Count> all{};
    for (int d = 0; d < Count; ++d) {
      auto const at = static_cast<std::size_t>(Rank - Count + d);
      extent const e = t.extent(d);
      all[static_cast<std::size_t>(d)] = mixed[at] ? select(e == 1, 0, i[at]) : i[at];
    }
    return all;
  }

 private:
  static constexpr bool is_one(extent e) {
    node const& n = e.p->at(e.id);
    return n.kind == op::literal && n.value == 1;
  }
};

namespace detail {
template <class T>
struct rank_of : std::integral_constant<int, 0> {};
template <class T, int Rank>
struct rank_of<expr::tensor<T, Rank>> : std::integral_constant<int, Rank> {};
template <int Rank, class T>
constexpr auto element_of_broadcast(broadcast_shape<Rank> const& all, T const& t, indices<Rank> const& i) {
  if constexpr (operand<T>)
    return t;
  else
    return element_at(t, all.template indices_of<rank_of<T>::value>(t, i));
}
template <int Rank, class T>
constexpr void meet(broadcast_shape<Rank>& all, T const& t) {
  static_assert(operand<T> || rank_of<T>::value > 0,
                "weft: elementwise takes tensors of one dimension or more, and numbers");
  if constexpr (!operand<T>) all.template meet<rank_of<T>::value>(t);
}
}  // namespace detail

/// The stage of `f` of the elements of tensors that are broadcast against each other; a number goes with every element.
///
///     auto y = weft::elementwise<"y">([](auto x, auto mean, auto scale) { return (x - mean) * scale; }, X, means, 2);
///
/// Shape   by NumPy's rule: 3 x 1 with 4 is 3 x 4, 5 x 1 x 2 with 3 x 1 is 5 x 3 x 2; ranks are known to the compiler
/// Errors  argument_error at a call whose extents differ and none of the two is 1, which says both
template <fixed_string Name, class F, class... T>
constexpr auto elementwise(F const& f, T const&... operands) {
  constexpr int ranks[] = {detail::rank_of<T>::value...};
  constexpr int rank = [&] {
    int most = 0;
    for (int r : ranks) most = r > most ? r : most;
    return most;
  }();
  static_assert(rank > 0, "weft: elementwise takes at least one tensor");
  broadcast_shape<rank> all;
  (detail::meet(all, operands), ...);
  return compute_over<Name>(all.extents, [&](auto i) { return f(detail::element_of_broadcast(all, operands, i)...); });
}

}  // namespace weft::inline WEFT_ABI
