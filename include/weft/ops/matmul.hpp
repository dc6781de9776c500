// Products of matrices and vectors. The sums are of f32 for halves, of i32 for bytes (docs/numbers.md).
#pragma once

#include "weft/expr/einsum.hpp"
#include "weft/ops/layout.hpp"

namespace weft::inline WEFT_ABI {
namespace ops {

/// Which of the two is transposed.
struct matmul_options {
  bool transpose_a = false, transpose_b = false;
};
/// The product of matrices, C = A B, each of them transposed on request.
///
/// Shape   M x K and K x N give M x N; of a transposed one the other way round. Tensors of higher rank are batches of
///         matrices in their last two dimensions; those before them are broadcast, as in numpy.matmul
/// Errors  argument_error at a call whose inner extents differ
inline constexpr auto matmul = []<class T, int RankA, class U, int RankB>(expr::tensor<T, RankA> const& a,
                                                                          expr::tensor<U, RankB> const& b,
                                                                          matmul_options o = {}) {
  static_assert(RankA >= 2 && RankB >= 2,
                "weft::ops::matmul: matrices have two dimensions or more; see ops::matvec, ops::dot");
  constexpr int batch = (RankA > RankB ? RankA : RankB) - 2;
  broadcast_shape<batch> batches;
  batches.template meet<RankA - 2>(a);
  batches.template meet<RankB - 2>(b);
  extent const inner = a.extent(RankA - (o.transpose_a ? 2 : 1));
  require(inner == b.extent(RankB - (o.transpose_b ? 1 : 2)));
  shape<batch + 2> all{};
  for (std::size_t d = 0; extent const& e : batches.extents) all[d++] = e;
  all[batch] = a.extent(RankA - (o.transpose_a ? 1 : 2));
  all[batch + 1] = b.extent(RankB - (o.transpose_b ? 2 : 1));
  auto const matrix = [=]<class E, int Rank>(expr::tensor<E, Rank> const& t, indices<batch + 2> const& i,
                                             axis_index row, axis_index column) {
    indices<batch> outer{};
    for (std::size_t d = 0; axis_index& one : outer) one = i[d++];
    indices<Rank - 2> const mine = batches.template indices_of<Rank - 2>(t, outer);
    indices<Rank> at{};
    for (std::size_t d = 0; axis_index const& one : mine) at[d++] = one;
    at[Rank - 2] = row;
    at[Rank - 1] = column;
    return element_at(t, at);
  };
  return compute_over<"matmul">(all, [=](auto i) {
    axis_index const m = i[batch], n = i[batch + 1];
    return sum(inner, [=](auto k) {
      return (o.transpose_a ? matrix(a, i, k, m) : matrix(a, i, m, k)) *
             (o.transpose_b ? matrix(b, i, n, k) : matrix(b, i, k, n));
    });
  });
};
/// M x K and K give M.
inline constexpr auto matvec = [](auto const& a, auto const& x) { return einsum<"ij,j->i", "matvec">(a, x); };
/// K and K x N give N.
inline constexpr auto vecmat = [](auto const& x, auto const& a) { return einsum<"i,ij->j", "vecmat">(x, a); };
/// M and N give M x N.
inline constexpr auto outer = [](auto const& x, auto const& y) { return einsum<"i,j->ij", "outer">(x, y); };
/// K and K give 1.
inline constexpr auto dot = [](auto const& x, auto const& y) { return einsum<"i,i->", "dot">(x, y); };

/// x W^T, and + bias where one is given.
///
/// Shape   ... x K and N x K, and N, give ... x N
/// Source  torch.nn.functional.linear
inline constexpr auto linear = []<class T, int Rank, class U>(expr::tensor<T, Rank> const& x,
                                                              expr::tensor<U, 2> const& w, auto const&... bias) {
  static_assert(sizeof...(bias) <= 1, "weft::ops::linear takes x, weights and at most one bias");
  constexpr std::size_t last = Rank - 1;
  require(x.extent(Rank - 1) == w.extent(1));
  shape<Rank> all = shape_of(x);
  all[last] = w.extent(0);
  auto const product = compute_over<"linear">(all, [=](auto i) {
    return sum(w.extent(1), [=](auto k) {
      auto from = i;
      from[last] = k;
      return element_at(x, from) * w(i[last], k);
    });
  });
  if constexpr (sizeof...(bias) == 0)
    return product;
  else
    return elementwise<"biased">([](auto v, auto b) { return v + b; }, product, bias...);
};

}  // namespace ops
}  // namespace weft::inline WEFT_ABI
