// Softmax and its logarithm along one dimension.
#pragma once

#include "weft/ops/layout.hpp"

namespace weft::inline WEFT_ABI {
namespace ops {

/// e^x over the sum of all e^x along an axis. The largest x is taken off first, so that nothing overflows.
///
/// Shape   that of `x`
/// Stages  top, e, total, softmax
inline constexpr auto softmax = [](auto const& x, along const& o = {}) {
  auto const top = detail::reduced<"top">(x, o.axis, maxima);
  auto const e = elementwise<"e">([](auto v, auto t) { return weft::exp(v - t); }, x, top);
  auto const total = detail::reduced<"total">(e, o.axis, sums);
  return elementwise<"softmax">([](auto v, auto t) { return v * (1 / t); }, e, total);
};
/// The logarithm of that: x - top - log of the sum of e^(x - top).
///
/// Shape   that of `x`
/// Stages  top, e, total, log_softmax
inline constexpr auto log_softmax = [](auto const& x, along const& o = {}) {
  auto const top = detail::reduced<"top">(x, o.axis, maxima);
  auto const e = elementwise<"e">([](auto v, auto t) { return weft::exp(v - t); }, x, top);
  auto const total = detail::reduced<"total">(e, o.axis, sums);
  return elementwise<"log_softmax">([](auto v, auto t, auto s) { return v - t - weft::log(s); }, x, top, total);
};

}  // namespace ops
}  // namespace weft::inline WEFT_ABI
