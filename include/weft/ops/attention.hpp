// Scaled dot-product attention, with all scores in memory or with those of some keys at a time.
#pragma once

#include <type_traits>

#include "weft/ops/matmul.hpp"
#include "weft/ops/softmax.hpp"

namespace weft::inline WEFT_ABI {
namespace ops {

/// Which keys a query sees, and the scale of its scores.
struct attention_options {
  bool causal = false;  // query i sees keys 0 to i only
  double scale = 0;     // of the scores; 0: 1 / sqrt(E)
  std::int64_t block = 0;  // so many keys at a time; 0 or less: all, in three passes
};

namespace detail {
/// The weights and the weighed sum of keys, relative to the largest score of them; of two sets of keys, that of both.
inline constexpr auto attended = any_order([](auto const& a, auto const& b) {
  auto const [top, total, sum] = a;
  auto const [other_top, other_total, other_sum] = b;
  auto const high = weft::max(top, other_top);
  // Where no key was seen yet, both may be minus infinity.
  auto const keeps = weft::select(top == high, 1, weft::exp(top - high));
  auto const adds = weft::select(other_top == high, 1, weft::exp(other_top - high));
  return values(high, total * keeps + other_total * adds, sum * keeps + other_sum * adds);
});
/// Whether weights are rounded to the type of the values before they are multiplied, so that a matrix unit may do it.
template <class T>
inline constexpr bool rounds_weights = std::is_same_v<T, f16> || std::is_same_v<T, bf16>;
template <class U, class T, int Rank>
constexpr auto weights_of(expr::tensor<T, Rank> const& scores) {
  auto const weights = softmax(scores);
  if constexpr (rounds_weights<U>) return elementwise<"weights">([](auto w) { return weft::cast<U>(w); }, weights);
  else return weights;
}
/// softmax(scores) v, of which so many keys at a time are looked at.
template <class T, int Rank, class U, int RankV>
constexpr auto attend_in_blocks(expr::tensor<T, Rank> const& scores, expr::tensor<U, RankV> const& v, std::int64_t block) {
  constexpr std::size_t last = Rank - 1;
  constexpr int batch = (Rank > RankV ? Rank : RankV) - 2;
  extent const keys = scores.extent(Rank - 1), size = literal_extent(scores, block);
  require(keys == v.extent(RankV - 2));
  shape<Rank> blocks = shape_of(scores);
  blocks[last] = (keys + (block - 1)) / block;
  auto const score = [=](auto i, auto k) {
    i[last] = i[last] * block + k;
    return element_at(scores, i);
  };
  auto const top = compute_over<"block_top">(blocks, [=](indices<Rank> const& i) {
    return max(size, [=](auto k) { return weft::where(i[last] * block + k < keys, score(i, k)); });
  });
  shape<Rank + 1> each{};
  for (std::size_t d = 0; d < Rank; ++d) each[d] = blocks[d];
  each[Rank] = size;
  auto const weight = compute_over<"block_weight">(each, [=](indices<Rank + 1> const& at) {
    indices<Rank> i{};
    for (std::size_t d = 0; d < Rank; ++d) i[d] = at[d];
    auto const x = score(i, at[Rank]);
    auto const high = element_at(top, i);
    auto const seen = weft::select(x == -__builtin_inff(), 0, weft::exp(x - high));
    auto const seen_here = weft::select(i[last] * block + at[Rank] < keys, seen, 0);
    if constexpr (rounds_weights<U>) return weft::cast<U>(seen_here);
    else return seen_here;
  });
  auto const weight_at = [=](indices<Rank> const& i, axis_index k) {
    indices<Rank + 1> at{};
    for (std::size_t d = 0; d < Rank; ++d) at[d] = i[d];
    at[Rank] = k;
    return element_at(weight, at);
  };
  auto const total = compute_over<"block_total">(blocks, [=](indices<Rank> const& i) {
    return sum(size, [=](auto k) { return weight_at(i, k); });
  });
  broadcast_shape<batch> batches;
  batches.template meet<Rank - 2>(scores);
  batches.template meet<RankV - 2>(v);
  // ... L x blocks x F
  shape<batch + 3> parts{};
  for (std::size_t d = 0; extent const& e : batches.extents) parts[d++] = e;
  parts[batch] = scores.extent(Rank - 2), parts[batch + 1] = blocks[last], parts[batch + 2] = v.extent(RankV - 1);
  auto const outer = [](auto const& i) {
    indices<batch> all{};
    for (std::size_t d = 0; axis_index& one : all) one = i[d++];
    return all;
  };
  auto const row = [=](indices<batch> const& of, axis_index l, axis_index b) {
    indices<Rank> at{};
    for (std::size_t d = 0; axis_index const& one : batches.template indices_of<Rank - 2>(scores, of)) at[d++] = one;
    at[last - 1] = l, at[last] = b;
    return at;
  };
  // Of narrow values a block is copied, with zeros behind the last key, so that its product is no more than that.
  auto const value = [&] {
    if constexpr (rounds_weights<U>) {
      shape<RankV + 1> of{};
      for (std::size_t d = 0; d + 2 < RankV; ++d) of[d] = v.extent(static_cast<int>(d));
      of[RankV - 2] = blocks[last], of[RankV - 1] = size, of[RankV] = v.extent(RankV - 1);
      return compute_over<"block_value">(of, [=](indices<RankV + 1> const& i) {
        indices<RankV> from{};
        for (std::size_t d = 0; d + 2 < RankV; ++d) from[d] = i[d];
        from[RankV - 2] = i[RankV - 2] * block + i[RankV - 1], from[RankV - 1] = i[RankV];
        return weft::select(i[RankV - 2] * block + i[RankV - 1] < keys, element_at(v, from), U(0.0f));
      });
    } else {
      return 0;
    }
  }();
  auto const part = compute_over<"block_sum">(parts, [=](indices<batch + 3> const& i) {
    indices<RankV> at{};
    for (std::size_t d = 0; axis_index const& one : batches.template indices_of<RankV - 2>(v, outer(i))) at[d++] = one;
    at[RankV - 1] = i[batch + 2];
    if constexpr (rounds_weights<U>)
      return sum(size, [=](auto k) {
        indices<RankV + 1> from{};
        for (std::size_t d = 0; d + 2 < RankV; ++d) from[d] = at[d];
        from[RankV - 2] = i[batch + 1], from[RankV - 1] = k, from[RankV] = at[RankV - 1];
        return weight_at(row(outer(i), i[batch], i[batch + 1]), k) * element_at(value, from);
      });
    else return sum(size, [=](auto k) {
      auto from = at;
      from[RankV - 2] = i[batch + 1] * block + k;
      return weft::where(i[batch + 1] * block + k < keys, weight_at(row(outer(i), i[batch], i[batch + 1]), k) * element_at(v, from));
    });
  });
  shape<batch + 2> all{};
  for (std::size_t d = 0; d < batch; ++d) all[d] = parts[d];
  all[batch] = parts[batch], all[batch + 1] = parts[batch + 2];
  auto const state = [&]<std::size_t... D>(std::index_sequence<D...>) {
    return compute<"top", "total", "sum">(all[D]..., [&](auto... i) {
      return reduce(values(-__builtin_inff(), 0, 0), attended, blocks[last], [=](auto b) {
        std::array const at{axis_index(i)...};
        auto const of = row(outer(at), at[batch], b);
        indices<batch + 3> from{};
        for (std::size_t d = 0; d < batch + 1; ++d) from[d] = at[d];
        from[batch + 1] = b, from[batch + 2] = at[batch + 1];
        return values(element_at(top, of), element_at(total, of), element_at(part, from));
      });
    });
  }(std::make_index_sequence<batch + 2>{});
  auto const weights = weft::get<1>(state);
  return elementwise<"attention">([=](auto x, auto t) { return weft::select(keys > 0, x / t, 0); }, weft::get<2>(state), weights);
}
/// softmax(scores) v, all keys at once. What weights are divided by is the same for a row, so its F sums are divided and not its S weights;
/// narrow weights are rounded as weights.
template <class T, int Rank, class U, int RankV>
constexpr auto attend_at_once(expr::tensor<T, Rank> const& scores, expr::tensor<U, RankV> const& v) {
  if constexpr (rounds_weights<U>) {
    return matmul(weights_of<U>(scores), v);
  } else {
    auto const top = reduced<"top">(scores, -1, maxima);
    auto const e = elementwise<"e">([](auto x, auto t) { return weft::exp(x - t); }, scores, top);
    auto const total = reduced<"total">(e, -1, sums);
    auto const sum = matmul(e, v);
    extent const keys = scores.extent(Rank - 1);
    return elementwise<"attention">([=](auto x, auto t) { return weft::select(keys > 0, x * (1 / t), 0); }, sum, total);
  }
}
/// The scores s of queries against keys become `seen(s * scale)`, and then weights of the values.
template <class T, int Rank, class K, class U, int RankV, class Seen, class... Mask>
constexpr auto attend(expr::tensor<T, Rank> const& q, K const& k, expr::tensor<U, RankV> const& v, attention_options const& o,
                      Seen const& seen, Mask const&... mask) {
  auto const product = matmul(q, k, {.transpose_b = true});
  auto const scale = 1 / weft::sqrt(count_along(q, -1));
  auto const scaled = elementwise<"scores">(
      [&](auto s, auto... m) { return seen(o.scale != 0 ? s * o.scale : s * scale, m...); }, product, mask...);
  auto const weigh = [&](auto const& scores) {
    return o.block > 0 ? attend_in_blocks(scores, v, o.block) : attend_at_once(scores, v);
  };
  if (!o.causal) return weigh(scaled);
  auto const visible = compute_over<"visible">(shape_of(scaled), [&](auto const& i) {
    return select(i[i.size() - 1] <= i[i.size() - 2], element_at(scaled, i), -__builtin_inff());
  });
  return weigh(visible);
}
struct attention_op {
  template <class Q, class K, class V>
  constexpr auto operator()(Q const& q, K const& k, V const& v, attention_options const& o = {}) const {
    return attend(q, k, v, o, [](auto s) { return s; });
  }
  template <class Q, class K, class V, class T, int Rank>
  constexpr auto operator()(Q const& q, K const& k, V const& v, expr::tensor<T, Rank> const& mask,
                            attention_options const& o = {}) const {
    return attend(q, k, v, o, [](auto s, auto m) {
      if constexpr (std::is_same_v<T, bool>) return select(m, s, -__builtin_inff());
      else return s + m;
    }, mask);
  }
};
}  // namespace detail

/// softmax(Q K^T * scale + mask) V.
///
///     auto y = ops::attention(q, k, v, {.causal = true});       auto z = ops::attention(q, k, v, mask);
///
/// With `.block = 64`, keys are looked at in blocks of 64, whose maximum, sum of weights and weighed values are joined with those
/// of the blocks before. Computed inside the loop over the blocks of the stage that joins them (`top`, whose results `top`
/// and `total` are one number for all of F), nothing is as long as S.
///
/// Where the values are f16 or bf16, weights are rounded to their type and multiplied as such, as PyTorch and FlashAttention do; scores and
/// sums are f32. On a GPU both products are a matrix unit's then (docs/gpu.md).
///
/// Shape   ... L x E, ... S x E and ... S x F give ... L x F; the dimensions before are batches, broadcast as in matmul;
///         a mask is broadcast against the scores, ... L x S; of bool it says which keys are seen, else it is added to the
///         scores: minus infinity hides a key
/// Needs   each query sees a key: else it is NaN, and 0 where there are no keys at all
/// Cost    memory for three to five times the scores; in blocks, as the schedule says, for those of a block
/// Source  Vaswani et al.: Attention Is All You Need, 2017; torch.nn.functional.scaled_dot_product_attention. Blocks: Dao, Fu,
///         Ermon, Rudra, Re: FlashAttention, 2022, algorithm 1
/// Stages  matmul, scores, visible if causal, top, e, total, matmul_1, attention; of f16 and bf16 values after total: softmax, weights,
///         matmul_1; in blocks, after visible:
///         block_top, block_weight, block_total, block_value of f16 and bf16, block_sum, top (with total and sum), attention
inline constexpr detail::attention_op attention;

}  // namespace ops
}  // namespace weft::inline WEFT_ABI
