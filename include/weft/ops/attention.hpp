// Scaled dot-product attention, with all scores in memory.
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
};

namespace detail {
/// The scores s of queries against keys become `seen(s * scale)`, and then weights of the values.
template <class T, int Rank, class K, class V, class Seen, class... Mask>
constexpr auto attend(expr::tensor<T, Rank> const& q, K const& k, V const& v, attention_options const& o,
                      Seen const& seen, Mask const&... mask) {
  auto const product = matmul(q, k, {.transpose_b = true});
  auto const root = weft::sqrt(count_along(q, -1));
  auto const scaled = elementwise<"scores">(
      [&](auto s, auto... m) { return seen(o.scale != 0 ? s * o.scale : s / root, m...); }, product, mask...);
  if (!o.causal) return matmul(softmax(scaled), v);
  auto const visible = compute_over<"visible">(shape_of(scaled), [&](auto const& i) {
    return select(i[i.size() - 1] <= i[i.size() - 2], element_at(scaled, i), -__builtin_inff());
  });
  return matmul(softmax(visible), v);
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
/// Shape   ... L x E, ... S x E and ... S x F give ... L x F; the dimensions before are batches, broadcast as in matmul;
///         a mask is broadcast against the scores, ... L x S; of bool it says which keys are seen, else it is added to the
///         scores: minus infinity hides a key
/// Needs   each query sees a key; of none it is NaN
/// Cost    memory for four times the scores
/// Source  Vaswani et al.: Attention Is All You Need, 2017; torch.nn.functional.scaled_dot_product_attention
/// Stages  matmul, scores, visible if causal, those of softmax, matmul_1
inline constexpr detail::attention_op attention;

}  // namespace ops
}  // namespace weft::inline WEFT_ABI
