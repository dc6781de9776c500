// Programs as text, to be read back.
#pragma once

#include <string>
#include <string_view>

#include "weft/expr/formula.hpp"  // the other way of showing one
#include "weft/expr/program.hpp"

namespace weft::inline WEFT_ABI {

/// The whole of a canonical program, one fact a line, each node behind the first one that stands on it:
///
///     program
///     input A f32
///       %0 = extent i64 A 0
///       shape %0
///     stage C f32
///       axis 0 < %0
///       shape %0
///       %1 = axis i64 0
///       %2 = load f32 A %1
///       %3 = literal f32 0x3f000000  # 0.5
///       %4 = mul f32 %2 %3
///       body %4
///     output C
///
/// Where a function computes a stage, `by running_sum A B` with what it reads stands in the place of the bodies.
/// In front of the outputs stand the conditions on extents, as `require %5`. A reduction's axes end in `reduced`, its body in `from` and the identity. Literals are decimal, those of
/// floats `2.0` when whole, else bits.
///
/// Keeps   parse_program(print(p)) has the digest of `p` and prints the same; this text is the program's
///         serialised form. Same text on all machines and locales
std::string print(program const& p);

/// The program of a text that `print` could have made; comments (`#` to the end of the line) and spacing are free. Names of
/// functions are looked up in `known`.
///
/// Errors  parse_error "program:line:column: message" for everything else, whatever it holds: what comes back
///         passes fault_of (verify.hpp)
program parse_program(std::string_view text, known_functions known = {});

}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/expr/print.ipp"
#endif
