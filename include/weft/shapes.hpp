// Calls of many shapes: code for ranges of sizes where a kernel has met several; and calls that do not wait for their code.
//
// Include it in one file of a header-only program, whichever, behind <weft/weft.hpp>. With weft::compiled it is always there.
//
// The first calls of a kernel are compiled for their own sizes, which makes the fastest code. The ninth shape
// (`kernel.with({.exact_shapes = 8})`, WEFT_EXACT_SHAPES) gets code in which those extents are open that were not always the same:
//
//     for (std::int64_t m : lengths) matmul(weft::view(x, m, 512), w, weft::out(y, m, 768));  // A.extent(0) differs
//     std::puts(weft::forms(matmul, weft::view(x, 5, 512), w, weft::out(y, 5, 768)).c_str());
//
//     8 for one shape: A 3 x 512, B 512 x 768, C 3 x 768; ..
//     1 for many:
//       A A0 x 512, B 512 x 768, C A0 x 768; A0 in 17..128, divided by 16
//
// It is for a range, 2 to 16, to 128, to 1024 and above: the rule's schedule for 5 rows is not that for 500. Where 16 or 64 divided
// all sizes that were met in the range, they divide those of the code, which has no tails; a call with another size has code
// without that made. After sixteen such forms one for all sizes is made. A size of 1 stays a number: it broadcasts.
//
// What cannot be open goes on as before, each shape with code of its own: where the how-lambda's schedule is illegal for open
// sizes, shapes for which a tuner has kept a result (of the 64 kept last), checked code, and calls whose types name their open sizes (weft/dim.hpp).
//
// `kernel.with({.background = true})`, WEFT_BACKGROUND=1: a call whose code is not there, nor on disk, runs simple code, while a thread
// of weft's makes the good one, which later calls run. docs/shapes.md.
#pragma once

#include "weft/background.hpp"
#include "weft/kernel.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {
std::string forms_text(kernel_table const& table);
}

/// What has been compiled for calls with arguments of these types, oldest first: the shapes, and the ranges of what is open.
///
/// Threads  any
template <class Kernel, class... A>
std::string forms(Kernel const& kernel, A const&... a) {
  return detail::forms_text(kernel.compiled_forms(a...));
}

/// Waits until all code that calls did not wait for is there: before one measures, say. What calls of other threads begin meanwhile
/// counts, too.
///
/// Threads  any
inline void finish_background() { detail::finish_all_later(); }

}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/dim.hpp"  // calls of open sizes are not cold
#include "weft/foreign.hpp"
WEFT_COLD_BEGIN
#include "weft/shapes.ipp"
WEFT_COLD_END
#endif
