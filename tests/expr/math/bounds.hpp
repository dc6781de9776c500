// How far each math function may be from the truth, in units in the last place of the true result: what the tests hold
// the functions to and what docs/math.md shows.
//
// An f32 function of one operand was measured over all floats, and its bound is what was found, rounded up
// (accuracy_long.cpp). The others were measured on samples against MPFR (accuracy.cpp; 10^7 once, 10^4 each time), and
// the bound is what was found and a tenth, rounded up to the next tenth. `exact` has no error.
#pragma once

#include "weft/base/op.hpp"

namespace weft_test {

/// With op::fma, and without.
struct bound {
  double fused, plain;
};
struct math_function {
  weft::op o;
  bound f32, f64;
  float worst;  // with fma: an operand where an f32 function of one operand is as wrong as it gets
  char const* edges;
};

inline constexpr bound correct{0.5, 0.5}, exact{0, 0};

// clang-format off
inline constexpr math_function math_functions[] = {
    {weft::op::exp, {0.880, 0.960}, {1.1, 1.2}, 0, "0 below, inf above the range of results; denormals are kept"},
    {weft::op::exp2, {1.150, 1.250}, {1.1, 1.2}, 0, "the same"},
    {weft::op::expm1, {1.000, 1.000}, {1.1, 1.2}, 0, "-0 stays; -1 at -inf"},
    {weft::op::log, {0.930, 0.501}, {1.0, 1.0}, 0, "-inf at 0; NaN below"},
    {weft::op::log2, {0.930, 0.501}, {1.0, 1.0}, 0, "the same"},
    {weft::op::log1p, {1.000, 0.501}, {1.0, 1.0}, 0, "-0 stays; -inf at -1; NaN below"},
    {weft::op::pow, {0.6, 0.6}, {0.6, 0.6}, 0, "C's list, Annex F.10.4.4"},
    {weft::op::sqrt, correct, correct, 0, "-0 stays; NaN below"},
    {weft::op::rsqrt, {1.500, 1.500}, {1.5, 1.5}, 0, "-inf at -0, inf at 0; NaN below"},
    {weft::op::sin, {0.900, 0.600}, {1.2, 1.8}, 0, "-0 stays; NaN at inf"},
    {weft::op::cos, {0.900, 0.600}, {1.2, 1.8}, 0, "NaN at inf"},
    {weft::op::tan, {0.600, 0.600}, {2.6, 2.8}, 0, "-0 stays; NaN at inf"},
    {weft::op::atan, {1.000, 0.501}, {1.2, 1.2}, 0, "-0 stays; pi/2 at inf"},
    {weft::op::atan2, {1.2, 0.6}, {1.2, 1.2}, 0, "C's list, Annex F.10.1.4"},
    {weft::op::tanh, {1.000, 0.501}, {1.2, 1.2}, 0, "-0 stays; 1 at inf"},
    {weft::op::sigmoid, {2.000, 2.000}, {2.2, 2.2}, 0, "0 at -inf, 1 at inf"},
    {weft::op::erf, {1.000, 0.501}, {1.2, 1.2}, 0, "-0 stays; 1 at inf"},
    {weft::op::gelu, {4.000, 0.501}, {4.0, 4.0}, 0, "-0 stays; -0 at -inf"},
    {weft::op::rem, exact, exact, 0, "NaN of inf or over 0; the sign is that of x"},
    {weft::op::floor, exact, exact, 0, "-0 stays"},
    {weft::op::ceil, exact, exact, 0, "-0.5 gives -0"},
    {weft::op::trunc, exact, exact, 0, "-0.5 gives -0"},
    {weft::op::round, exact, exact, 0, "halves go to the even neighbour, as in C's roundeven; -0.5 gives -0"},
    {weft::op::abs, exact, exact, 0, "clears the sign, that of NaN too"},
};
// clang-format on

}  // namespace weft_test
