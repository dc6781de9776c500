// Element by element: activations, arithmetic, comparison. Tensors of different shapes are broadcast by NumPy's rule
// (expr/broadcast.hpp), numbers go with every element: `ops::add(x, bias)`, `ops::mul(x, 2)`.
#pragma once

#include "weft/ops/layout.hpp"

namespace weft::inline WEFT_ABI {
namespace ops {

// The math functions and operators of the face by their names. Types are theirs: halves are computed in f32.
#define WEFT_OPS_UNARY(name, expression) \
  inline constexpr auto name = [](auto const& x) { return elementwise<#name>([](auto v) { return expression; }, x); };
#define WEFT_OPS_BINARY(name, expression)                                       \
  inline constexpr auto name = [](auto const& x, auto const& y) {               \
    return elementwise<#name>([](auto a, auto b) { return expression; }, x, y); \
  };

/// The function or operator of that name, of each element.
///@{
WEFT_OPS_UNARY(abs, weft::abs(v))
WEFT_OPS_UNARY(neg, -v)
WEFT_OPS_UNARY(square, v * v)
WEFT_OPS_UNARY(sqrt, weft::sqrt(v))
WEFT_OPS_UNARY(rsqrt, weft::rsqrt(v))
WEFT_OPS_UNARY(reciprocal, 1 / weft::cast<detail::real_t<typename decltype(v)::element_type>>(v))
WEFT_OPS_UNARY(exp, weft::exp(v))
WEFT_OPS_UNARY(log, weft::log(v))
WEFT_OPS_UNARY(sin, weft::sin(v))
WEFT_OPS_UNARY(cos, weft::cos(v))
WEFT_OPS_UNARY(tanh, weft::tanh(v))
WEFT_OPS_UNARY(erf, weft::erf(v))
WEFT_OPS_UNARY(floor, weft::floor(v))
WEFT_OPS_UNARY(ceil, weft::ceil(v))
WEFT_OPS_UNARY(round, weft::round(v))
///@}

/// An activation, of each element. Source  the definitions of torch.nn.functional and ONNX
///@{
WEFT_OPS_UNARY(relu, weft::max(0, v))  // NaN stays: max(a, b) is a > b ? a : b
WEFT_OPS_UNARY(relu6, weft::min(6, weft::max(0, v)))
WEFT_OPS_UNARY(sigmoid, weft::sigmoid(v))
WEFT_OPS_UNARY(silu, v * weft::sigmoid(v))
WEFT_OPS_UNARY(gelu, weft::gelu(v))
WEFT_OPS_UNARY(gelu_tanh, weft::gelu_tanh(v))
WEFT_OPS_UNARY(softplus, weft::max(0, v) + weft::log1p(weft::exp(-weft::abs(v))))  // nothing overflows on the way
WEFT_OPS_UNARY(mish, v * weft::tanh(weft::max(0, v) + weft::log1p(weft::exp(-weft::abs(v)))))
WEFT_OPS_UNARY(hard_sigmoid, weft::min(6, weft::max(0, weft::cast<detail::real_t<typename decltype(v)::element_type>>(v) + 3)) / 6)
WEFT_OPS_UNARY(hard_swish, v * weft::min(6, weft::max(0, weft::cast<detail::real_t<typename decltype(v)::element_type>>(v) + 3)) / 6)
///@}

/// The function or operator of that name, of each two elements that belong together.
///@{
WEFT_OPS_BINARY(add, a + b)
WEFT_OPS_BINARY(sub, a - b)
WEFT_OPS_BINARY(mul, a * b)
WEFT_OPS_BINARY(div, a / b)  // of integers towards 0
WEFT_OPS_BINARY(pow, weft::pow(a, b))
WEFT_OPS_BINARY(fmod, weft::fmod(a, b))
WEFT_OPS_BINARY(maximum, weft::max(a, b))
WEFT_OPS_BINARY(minimum, weft::min(a, b))
WEFT_OPS_BINARY(equal, a == b)
WEFT_OPS_BINARY(less, a < b)
WEFT_OPS_BINARY(less_equal, a <= b)
WEFT_OPS_BINARY(squared_difference, (a - b) * (a - b))
///@}

#undef WEFT_OPS_UNARY
#undef WEFT_OPS_BINARY

/// The slope below 0.
struct leaky_relu_options {
  double slope = 0.01;
};
/// x, or x * slope where x < 0.
inline constexpr auto leaky_relu = [](auto const& x, leaky_relu_options const& o = {}) {
  return elementwise<"leaky_relu">([=](auto v) { return weft::select(v < 0, v * o.slope, v); }, x);
};
/// The limit far below 0 is -alpha.
struct elu_options {
  double alpha = 1;
};
/// x, or alpha (e^x - 1) where x is not above 0.
inline constexpr auto elu = [](auto const& x, elu_options const& o = {}) {
  return elementwise<"elu">([=](auto v) { return weft::select(v > 0, v, o.alpha * weft::expm1(v)); }, x);
};
/// `condition ? x : y`, all three broadcast. Source  numpy.where
inline constexpr auto where = [](auto const& condition, auto const& x, auto const& y) {
  return elementwise<"where">([](auto c, auto a, auto b) { return weft::select(c, a, b); }, condition, x, y);
};
/// x between `low` and `high`, all three broadcast.
inline constexpr auto clamp = [](auto const& x, auto const& low, auto const& high) {
  return elementwise<"clamp">([](auto v, auto l, auto h) { return weft::clamp(v, l, h); }, x, low, high);
};
/// `ops::cast<weft::f16>(y)`: what is computed in f32 stored as a half. See weft::cast for the rules.
template <element To>
inline constexpr auto cast =
    [](auto const& x) { return elementwise<"cast">([](auto v) { return weft::cast<To>(v); }, x); };

}  // namespace ops
}  // namespace weft::inline WEFT_ABI
