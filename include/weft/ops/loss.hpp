// Losses of each element of a batch; their mean over the batch is `ops::mean_of`.
#pragma once

#include "weft/ops/softmax.hpp"

namespace weft::inline WEFT_ABI {
namespace ops {

/// -log softmax(logits) at the class that `target` names, for each row.
///
/// Shape   N x C, and N integers from 0 to C - 1, give N; a target outside of them counts as the nearest
/// Source  torch.nn.functional.cross_entropy with reduction='none'
/// Stages  those of log_softmax, cross_entropy
inline constexpr auto cross_entropy = []<class T, class U>(expr::tensor<T, 2> const& logits,
                                                           expr::tensor<U, 1> const& target) {
  require(logits.extent(0) == target.extent(0));
  auto const score = log_softmax(logits);
  return compute<"cross_entropy">(logits.extent(0),
                                  [&](auto i) { return -score(i, weft::clamp(target(i), 0, logits.extent(1) - 1)); });
};
/// The mean of all elements of a tensor of one dimension, which need not be there: of none it is NaN.
///
/// Shape   N gives 1
/// Stages  total, mean
inline constexpr auto mean_of = []<class T>(expr::tensor<T, 1> const& x) {
  auto const total = detail::reduced<"total">(x, 0, sums);
  return elementwise<"mean">([](auto t, auto n) { return t / n; }, total, detail::count_along(x, 0));
};

}  // namespace ops
}  // namespace weft::inline WEFT_ABI
