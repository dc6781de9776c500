// What a kernel computes for given arguments, as the text of a what-lambda.
#pragma once

#include <string>

#include "weft/expr/print_what.hpp"
#include "weft/kernel.hpp"

namespace weft::inline WEFT_ABI {

/// What the what-lambda of `kernel` makes of these arguments' types, as a what-lambda of operators and stages alone: without what
/// ready operations, loops and templates of C++ have made it from. Nothing runs; outputs may be left out.
///
///     std::puts(weft::print_what(matmul, a, b).c_str());
///
/// Inputs are called A, B, .., as in all that a kernel prints.
///
/// Errors  argument_error, as at a call
/// See     print_what(program), weft/print_how.hpp for the schedule
template <class Kernel, class... A>
std::string print_what(Kernel const& kernel, A const&...) {
  using types = typename Kernel::template types_for<A...>;
  typename types::pair const lambdas{kernel.what, kernel.how};
  return print_what(types::program_of(lambdas));
}

}  // namespace weft::inline WEFT_ABI
