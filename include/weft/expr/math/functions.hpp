// The math functions of the face: weft::exp(x) and its kin.
//
// Each is for f32 and f64; other types (halves, integers, indices) are computed in f32. What happens to zeros, infinities
// and NaN is C's Annex F. All executors give the same bits. How far results are from the truth: docs/math.md. The
// expansions: expr/math/math.hpp.
#pragma once

#include "weft/expr/face.hpp"

namespace weft::inline WEFT_ABI {

namespace detail {
/// The element type in which a function of operands A is computed: the one place that decides it.
template <class... A>
struct math_type;
template <class A>
struct math_type<A> {
  static_assert(!std::is_same_v<element_of_t<A>, bool>,
                "weft: a math function of a condition; cast it first, for example weft::cast<float>(a)");
  static constexpr dtype computed_in = computed(dtype_of<element_of_t<A>>);
  using type = element_t<is_float(computed_in) ? computed_in : dtype::f32>;
};
template <class A, class B>
struct math_type<A, B> : math_type<common_t<A, B>> {};

template <op O, class X>
constexpr auto math_of(X const& x) {
  using T = typename math_type<X>::type;
  return value<T>{{x.p, x.p->operation(O, dtype_of<T>, node_as<T>(*x.p, x))}};
}
template <op O, class A, class B>
constexpr auto math_of(A const& a, B const& b) {
  using T = typename math_type<A, B>::type;
  return binary<T, value<T>>(O, a, b);
}
// A reduction is let in to be refused in words by node_as.
template <class A, class B>
concept math_pair = (expression<A> || expression<B>) && (expression<A> || plain_number<A>) &&
                    (expression<B> || plain_number<B>);
/// For what changes no integer.
template <op O, class X>
constexpr auto rounding(X const& x) {
  using T = typename X::element_type;
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) return value<T>{{x.p, x.id}};
  else return math_of<O>(x);
}
}  // namespace detail

// clang-format off
/// e to the power x.
template <detail::expression X> constexpr auto exp(X const& x) { return detail::math_of<op::exp>(x); }
/// 2 to the power x.
template <detail::expression X> constexpr auto exp2(X const& x) { return detail::math_of<op::exp2>(x); }
/// e to the power x, minus 1, also where x is small.
template <detail::expression X> constexpr auto expm1(X const& x) { return detail::math_of<op::expm1>(x); }
/// The natural logarithm.
template <detail::expression X> constexpr auto log(X const& x) { return detail::math_of<op::log>(x); }
/// The logarithm to base 2.
template <detail::expression X> constexpr auto log2(X const& x) { return detail::math_of<op::log2>(x); }
/// The natural logarithm of 1 + x, also where x is small.
template <detail::expression X> constexpr auto log1p(X const& x) { return detail::math_of<op::log1p>(x); }
/// x to the power y.
template <class X, class Y> requires detail::math_pair<X, Y>
constexpr auto pow(X const& x, Y const& y) { return detail::math_of<op::pow>(x, y); }
/// The square root, rounded correctly.
template <detail::expression X> constexpr auto sqrt(X const& x) { return detail::math_of<op::sqrt>(x); }
/// 1 / sqrt(x), which are two roundings.
template <detail::expression X> constexpr auto rsqrt(X const& x) { return detail::math_of<op::rsqrt>(x); }
/// The sine of an angle in radians, of any size.
template <detail::expression X> constexpr auto sin(X const& x) { return detail::math_of<op::sin>(x); }
/// The cosine of an angle in radians, of any size.
template <detail::expression X> constexpr auto cos(X const& x) { return detail::math_of<op::cos>(x); }
/// The tangent of an angle in radians, of any size.
template <detail::expression X> constexpr auto tan(X const& x) { return detail::math_of<op::tan>(x); }
/// The angle in radians, -pi/2 to pi/2, whose tangent is x.
template <detail::expression X> constexpr auto atan(X const& x) { return detail::math_of<op::atan>(x); }
/// The angle in radians, -pi to pi, of the point (x, y).
template <class Y, class X> requires detail::math_pair<Y, X>
constexpr auto atan2(Y const& y, X const& x) { return detail::math_of<op::atan2>(y, x); }
/// The hyperbolic tangent.
template <detail::expression X> constexpr auto tanh(X const& x) { return detail::math_of<op::tanh>(x); }
/// 1 / (1 + e^-x); nothing overflows on the way.
template <detail::expression X> constexpr auto sigmoid(X const& x) { return detail::math_of<op::sigmoid>(x); }
/// The error function.
template <detail::expression X> constexpr auto erf(X const& x) { return detail::math_of<op::erf>(x); }
/// x (1 + erf(x / sqrt 2)) / 2, the exact form; where x is far below 0 as well.
template <detail::expression X> constexpr auto gelu(X const& x) { return detail::math_of<op::gelu>(x); }
/// What is left of x / y, with the sign of x: exact, however large the quotient. Source: C, fmod.
template <class X, class Y> requires detail::math_pair<X, Y>
constexpr auto fmod(X const& x, Y const& y) { return detail::math_of<op::rem>(x, y); }
/// |x|; of signed integers in the type in which they are computed, i32 at least, whose lowest stays as it is; others are their own.
template <detail::expression X> constexpr auto abs(X const& x) {
  if constexpr (std::is_signed_v<typename X::element_type> && std::is_integral_v<typename X::element_type>)
    return max(x, 0 - x);
  else return detail::rounding<op::abs>(x);
}
/// |x| with the sign of y, that of a zero or NaN too; which sign a NaN has that arithmetic made is not fixed.
template <class X, class Y> requires detail::math_pair<X, Y>
constexpr auto copysign(X const& x, Y const& y) { return detail::math_of<op::copysign>(x, y); }
/// The integer not above x, as a number of the same type; exact. -0 stays.
template <detail::expression X> constexpr auto floor(X const& x) { return detail::rounding<op::floor>(x); }
/// The integer not below x; exact. -0.5 gives -0.
template <detail::expression X> constexpr auto ceil(X const& x) { return detail::rounding<op::ceil>(x); }
/// The integer next to x on the way to 0; exact.
template <detail::expression X> constexpr auto trunc(X const& x) { return detail::rounding<op::trunc>(x); }
/// The integer nearest to x, and of two the even one (C's roundeven; its round goes away from 0); exact.
template <detail::expression X> constexpr auto round(X const& x) { return detail::rounding<op::round>(x); }
/// gelu with tanh in place of erf: x sigmoid(2 sqrt(2 / pi) (x + 0.044715 x^3)), in the roundings of just that.
template <detail::expression X> constexpr auto gelu_tanh(X const& x) {
  using T = typename detail::math_type<X>::type;
  auto const v = cast<T>(x);
  return v * sigmoid(v * (v * v * static_cast<T>(0.07135481627260025) + static_cast<T>(1.5957691216057308)));
}
// clang-format on

}  // namespace weft::inline WEFT_ABI
