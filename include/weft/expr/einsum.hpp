// Einstein's notation for products of tensors that are summed over the indices which the result does not have.
#pragma once

#include "weft/expr/compute.hpp"

namespace weft::inline WEFT_ABI {

namespace detail {
/// `bij,bjk->bik` taken apart, by the compiler.
struct einsum_form {
  static constexpr int most = 16;
  char axes[most] = {};  // those of the result, then those summed over
  int spatial = 0, reduced = 0;
  int operands = 0;
  int rank[most] = {};
  int place[most][most] = {};  // of dimension d of operand o: which of `axes`
  bool sound = true;

  constexpr int find(char c) const {
    for (int i = 0; i < spatial + reduced; ++i)
      if (axes[i] == c) return i;
    return -1;
  }
};
constexpr einsum_form parse_einsum(std::string_view text) {
  einsum_form f;
  // Not text.find: under g++'s sanitizers a template argument's characters cannot be compared by pointer.
  std::size_t arrow = 0;
  while (arrow + 1 < text.size() && !(text[arrow] == '-' && text[arrow + 1] == '>')) ++arrow;
  if (arrow + 1 >= text.size()) return f.sound = false, f;
  auto const is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  for (char c : text.substr(arrow + 2)) {
    if (c == ' ') continue;
    f.sound = f.sound && is_letter(c) && f.find(c) < 0 && f.spatial < 8;
    if (!f.sound) return f;
    f.axes[f.spatial++] = c;
  }
  f.operands = 1;
  for (char c : text.substr(0, arrow)) {
    int const o = f.operands - 1;
    if (c == ' ') continue;
    if (c == ',') {
      f.sound = f.sound && f.operands < einsum_form::most;
      if (f.sound) ++f.operands;
      continue;
    }
    f.sound = f.sound && is_letter(c) && f.rank[o] < 8;
    if (!f.sound) return f;
    if (f.find(c) < 0) {
      f.sound = f.reduced < 8;
      if (!f.sound) return f;
      f.axes[f.spatial + f.reduced++] = c;
    }
    f.place[o][f.rank[o]++] = f.find(c);
  }
  for (int i = 0; i < f.spatial; ++i) {  // an index of the result stands in an operand
    bool found = false;
    for (int o = 0; o < f.operands; ++o)
      for (int d = 0; d < f.rank[o]; ++d) found = found || f.place[o][d] == i;
    f.sound = f.sound && found;
  }
  return f;
}
template <fixed_string Formula>
struct einsum_stage {
  static constexpr einsum_form f = parse_einsum(Formula.view());
  static constexpr int spatial = f.spatial, reduced = f.reduced;

  template <int... Rank>
  static constexpr bool has_ranks() {
    int o = 0;
    return ((f.rank[o++] == Rank) && ...);
  }
  template <int O, class T, int Rank>
  static constexpr value<T> element(expr::tensor<T, Rank> const& t, axis_index const* axes) {
    return [&]<std::size_t... D>(std::index_sequence<D...>) {
      return t(axes[f.place[O][D]]...);
    }(std::make_index_sequence<Rank>{});
  }
  template <int O = 0, class First, class... Rest>
  static constexpr auto product(axis_index const* axes, First const& first, Rest const&... rest) {
    auto const x = element<O>(first, axes);
    if constexpr (sizeof...(Rest) == 0) return x;
    else return x * product<O + 1>(axes, rest...);
  }
  /// An index of a stage has the extent that it has elsewhere. (Inputs are compared at each call.)
  template <class... T>
  static constexpr void agree(T const&... t) {
    int o = 0;
    auto const look = [&](auto const& one) {
      for (int d = 0; d < f.rank[o]; ++d) {
        extent const first = extent_of(f.place[o][d], t...), own = one.extent(d);
        bool const both_inputs = first.p->at(first.id).kind == op::extent && program::at(one.p->tensors, one.id).stage < 0;
        if (!both_inputs && !(first.p == own.p && first.id == own.id)) require(own == first);
      }
      ++o;
    };
    (look(t), ...);
  }
  /// The extent of axis `a`: that of the first operand that has it.
  template <class... T>
  static constexpr extent extent_of(int a, T const&... t) {
    extent found{};
    int o = 0;
    auto const look = [&](auto const& one) {
      for (int d = 0; d < f.rank[o] && found.p == nullptr; ++d)
        if (f.place[o][d] == a) found = one.extent(d);
      ++o;
    };
    (look(t), ...);
    return found;
  }
};
}  // namespace detail

/// `weft::einsum<"bij,bjk->bik">(A, B)`: a stage named "einsum" (or as the second name says) that is the sum, over the
/// indices that stand left of the arrow only, of the products of the elements. Spaces may stand anywhere.
///
///     einsum<"ij,jk->ik">(A, B)   matrix product        einsum<"ii->i">(A)   diagonal       einsum<"ij->ji">(A)   transpose
///     einsum<"i,i->">(x, y)       dot product           einsum<"ij->i">(A)   row sums       einsum<"i,j->ij">(x, y) outer
///
/// Shape   an index has the extent of the first operand in which it stands; where it stands elsewhere, an access out of
///         bounds or unequal extents are refused at the first call
template <fixed_string Formula, fixed_string Name = "einsum", class... T, int... Rank>
constexpr auto einsum(expr::tensor<T, Rank> const&... operands) {
  using stage = detail::einsum_stage<Formula>;
  static_assert(stage::f.sound, "weft: einsum takes letters, commas and one arrow, each index of the result once and in "
                                "an operand too: weft::einsum<\"bij,bjk->bik\">(A, B)");
  static_assert(stage::f.operands == static_cast<int>(sizeof...(T)),
                "weft: einsum has another number of tensors than its formula says");
  static_assert(stage::template has_ranks<Rank...>(),
                "weft: a tensor of this einsum has another rank than its formula says");
  stage::agree(operands...);
  return [&]<std::size_t... S, std::size_t... R>(std::index_sequence<S...>, std::index_sequence<R...>) {
    auto const body = [=](auto... spatial) {
      if constexpr (sizeof...(R) == 0) {
        axis_index const all[] = {spatial..., {}};
        return stage::product(all, operands...);
      } else {
        return sum(stage::extent_of(stage::spatial + static_cast<int>(R), operands...)..., [=](auto... reduced) {
          axis_index const all[] = {spatial..., reduced...};
          return stage::product(all, operands...);
        });
      }
    };
    if constexpr (sizeof...(S) == 0) return compute<Name>(1, [=](auto) { return body(); });
    else return compute<Name>(stage::extent_of(static_cast<int>(S), operands...)..., body);
  }(std::make_index_sequence<stage::spatial>{}, std::make_index_sequence<stage::reduced>{});
}

}  // namespace weft::inline WEFT_ABI
