// A program as the text of a what-lambda.
#pragma once

#include <string>

#include "weft/expr/program.hpp"

namespace weft::inline WEFT_ABI {

/// A program as a what-lambda that makes the same one, to be pasted into a source:
///
///     [](auto A, auto B) {
///       auto C = weft::compute<"C">(A.extent(0), B.extent(1), [=](auto i, auto j) {
///         return weft::sum(A.extent(1), [=](auto k) { return A(i, k) * B(k, j); });
///       });
///       return C;
///     }
///
/// Sums, products, extremes, any, all and scans are called by their names. Any other reduction, and each operation that the
/// operators of the language would do in another type, is written by the functions of expr/exact.hpp, which the text's first
/// line then asks for. A function that computes a stage is called as weft knows it (`weft::external<"f", &f>`). What C++ has no
/// way to write stands as a comment that begins with `// not written:`.
///
/// Keeps   the text's program is `equal_nodes_joined(p)`, once that is done with it, too: it has the same digest and names
/// Errors  none
/// Cost    O(nodes squared)
/// See     weft/print_what.hpp for that of a kernel, print_how for its schedule, print for what parse_program reads
std::string print_what(program const& p);

/// The canonical program in which each value is computed by one node: what shares a node with what else is all that may differ
/// between two programs that are the same then. Loop programs are no others: there equal expressions are one node anyway.
///
/// Cost    O(nodes squared)
program equal_nodes_joined(program const& p);

}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/expr/print_what.ipp"
#endif
