// How far each math function may be from the truth, in units in the last place of the true result: what the tests hold
// the functions to and what docs/math.md shows.
//
// An f32 function of one operand was measured over all floats, with fma, and its bound is what was found, rounded up
// (accuracy_long.cpp). The others were measured on samples (accuracy.cpp, accuracy_long.cpp), and the bound is what was
// found and a tenth or more. `exact` has no error.
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
    {weft::op::exp, {0.892, 0.991}, {1.0, 1.1}, -0x1.765026p+2f, "0 below, inf above the range of results; denormals are kept"},
    {weft::op::exp2, {0.919, 1.188}, {1.3, 1.5}, -0x1.f9b35ep+6f, "the same"},
    {weft::op::expm1, {1.466, 1.6}, {2.1, 2.1}, 0x1.8996aap-2f, "-0 stays; -1 at -inf"},
    {weft::op::log, {0.995, 0.501}, {0.9, 0.9}, 0x1.48047p-1f, "-inf at 0; NaN below"},
    {weft::op::log2, {1.208, 0.501}, {1.3, 1.2}, 0x1.6971d2p+0f, "the same"},
    {weft::op::log1p, {1.631, 0.501}, {1.3, 1.3}, 0x1.57b996p-2f, "-0 stays; -inf at -1; NaN below"},
    {weft::op::pow, {0.7, 0.7}, {1.3, 1.6}, 0, "C's list, Annex F.10.4.4"},
    {weft::op::sqrt, correct, correct, 0, "-0 stays; NaN below"},
    {weft::op::rsqrt, {1.491, 1.491}, {1.5, 1.5}, 0x1.019566p-126f, "-inf at -0, inf at 0; NaN below"},
    {weft::op::sin, {0.939, 0.564}, {1.0, 1.8}, 0x1.b7b432p+4f, "-0 stays; NaN at inf"},
    {weft::op::cos, {0.936, 0.564}, {1.0, 1.8}, 0x1.f67456p+1f, "NaN at inf"},
    {weft::op::tan, {2.477, 0.501}, {2.4, 3.1}, 0x1.2e41p+1f, "-0 stays; NaN at inf"},
    {weft::op::atan, {1.272, 0.501}, {1.7, 1.8}, 0x1.01a358p+0f, "-0 stays; pi/2 at inf"},
    {weft::op::atan2, {1.5, 0.6}, {2.1, 2.2}, 0, "C's list, Annex F.10.1.4"},
    {weft::op::tanh, {0.931, 0.501}, {1.8, 1.8}, 0x1.e1895p-1f, "-0 stays; 1 at inf"},
    {weft::op::sigmoid, {2.000, 2.1}, {2.1, 2.1}, -0x1.69c008p-12f, "0 at -inf, 1 at inf"},
    {weft::op::erf, {0.986, 0.501}, {1.3, 1.3}, 0x1.fda8fep-1f, "-0 stays; 1 at inf"},
    {weft::op::gelu, {4.959, 0.501}, {5.0, 6.0}, -0x1.53f70ep-2f, "-0 stays; -0 at -inf"},
    {weft::op::rem, exact, exact, 0, "NaN of inf or over 0; the sign is that of x"},
    {weft::op::floor, exact, exact, 0, "-0 stays"},
    {weft::op::ceil, exact, exact, 0, "-0.5 gives -0"},
    {weft::op::trunc, exact, exact, 0, "-0.5 gives -0"},
    {weft::op::round, exact, exact, 0, "halves go to the even neighbour, as in C's roundeven; -0.5 gives -0"},
    {weft::op::abs, exact, exact, 0, "clears the sign, that of NaN too"},
};
// clang-format on

}  // namespace weft_test
