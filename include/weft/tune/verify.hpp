// Whether a candidate has computed what the program says: against direct evaluation, or against another candidate's elements.
#pragma once

#include <string>

#include "weft/expr/program.hpp"
#include "weft/runtime/argument.hpp"
#include "weft/base/sequence.hpp"

namespace weft::inline WEFT_ABI {
namespace tuning {

/// How far two results may be apart: 0 for integers, where nothing is summed up, since then no schedule does its arithmetic in another
/// order, and where bits are asked for, which tell 0 from -0; all NaNs are one value, since which one arithmetic makes is open
/// (docs/numbers.md). Else
///
///     16 * eps(accumulator) * sqrt(terms) * max(largest, magnitude) + 2 * eps(result) * largest
///
/// with the terms of the longest reduction, `largest` of the result's elements, `magnitude` of the sums behind an element where that was looked at, since
/// they may cancel in all of them, and the accumulators of narrow floats in f32. An infinite one lets everything pass, also integers.
/// Rounding errors of a sum in another order grow with the root of the terms (Higham, Accuracy and Stability of Numerical
/// Algorithms, 2nd edition, section 4.2); a term too many or too few is some 1 / terms of the sum.
struct tolerance {
  bool bitwise = false;
  double terms = 1;
  double magnitude = 0;
};

/// The terms of the longest sum, or the like, that a call computes.
double longest_reduction(program const& p, argument const* arguments);

/// The elements of one output, in row-major order, each as its bits.
struct element_list {
  dtype type = dtype::f32;
  sequence<std::int64_t> bits;
  double largest = -1;  // of finite floats without their signs, where somebody has asked
  sequence<char> bytes{};  // the same elements as memory has them side by side, where somebody has asked
};
/// Finds both for what many are compared with.
void make_ready(element_list& e);
/// Of a tensor in memory; `data` is where its first element stands.
element_list elements_of(argument const& shape, char const* data);

/// "element 17 is 3.5 instead of 2.5", or empty. In `at` comes which element it is.
std::string difference(element_list const& expected, element_list const& found, tolerance const& t, std::size_t* at = nullptr);

/// Whether a tensor in memory has elements that `difference` would let pass. What many are asked for as they stand: reading all of them into a list of their own
/// takes longer than comparing them.
bool is_like(element_list const& expected, argument const& shape, char const* data, tolerance const& t);

/// Compares samples of the outputs with direct evaluation of the program: corners, places at multiples of likely tiles and beside them,
/// the others at random, 256 of each output at most, eight of them in a row where its elements share sums. One that is further off than the result's largest element allows is held against the
/// magnitude of the sums behind it: of the mean of equal numbers that is taken from each of them, what is left is the sums' rounding alone.
///
/// In `checked` comes how many were; 0: one element alone takes more than 1.5 million points of its stages.
/// Cost     0.2 s, or four elements of each output
std::string check_samples(program const& what, bool fma, argument const* arguments, int count,
                          sequence<element_list> const& outputs, tolerance const& t, int& checked);

/// Compares one element of an output, by its place in row-major order, within what the magnitude of its terms allows. In `known` comes whether it could be
/// evaluated, in `magnitude` how large the sums behind it are: how far it moves when the inputs are moved by what sums of so many terms may be off, in
/// units of that. 0: it does not move; infinite: it moves without bounds, or to another integer, so that the order of the sums decides what it is.
///
/// Cost     1.5 million points of stages at most, five times: 1.5 s
std::string check_element(program const& what, bool fma, argument const* arguments, int count, element_list const& found, int output,
                          std::size_t at, tolerance const& t, bool& known, double* magnitude = nullptr);

/// Whether `difference` lets pass what half of the elements differ from 0 by, as it does where one of them is larger than all others by far.
bool lets_most_pass(element_list const& expected, tolerance const& t);

/// Whether a maximum or a minimum of floats may meet an input that is no number, of which these have some: it forgets what was before a NaN
/// (docs/numbers.md), so that the order in which it is taken decides what it is.
bool hangs_on_nans(program const& p, argument const* arguments, int count);

/// Whether a call computes whole numbers without rounding, in whichever order, where its inputs of floats are whole numbers from -2 to 2: sums, products of
/// two or more, minima and choices that stay below 2^24 (f32). Then one term too many or too few shows in the longest sum, which `tolerance` would let pass.
bool whole_numbers_stay_exact(program const& p, argument const* arguments);

}  // namespace tuning
}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/tune/verify.ipp"
#endif
