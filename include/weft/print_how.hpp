// The schedule that a kernel takes for given arguments, as the text of a how-lambda.
#pragma once

#include <string>

#include "weft/kernel.hpp"
#include "weft/schedule/print_how.hpp"

namespace weft::inline WEFT_ABI {

/// What the how-lambda of `kernel` did for these arguments, with each loop, condition and knob decided: a how-lambda without
/// any, to be pasted into a program. Nothing runs; outputs may be left out.
///
///     std::puts(weft::print_how(matmul, a, b).c_str());
///
/// Errors  argument_error, schedule_error, as at a call
/// See     print_how(schedule)
template <class Kernel, class... A>
std::string print_how(Kernel const& kernel, A const&... a) {
  using types = typename Kernel::template types_for<A...>;
  typename types::pair const lambdas{kernel.what, kernel.how};
  program const p = types::program_of(lambdas);
  schedule s(p, [](int, int) { return std::int64_t(-1); });  // the steps are legal: the call has seen the extents
  replay(s, kernel.texts(false, a...).taken);
  return print_how(s);
}

}  // namespace weft::inline WEFT_ABI
