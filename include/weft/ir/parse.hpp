// Reads the text of a loop program, as print.hpp describes it.
#pragma once

#include <string_view>

#include "weft/ir/ir.hpp"

namespace weft::inline WEFT_ABI {
namespace ir {

/// The function that `text` describes, its nodes in `m`. Nothing is folded: print(parse(m, print(f))) == print(f).
/// Blank lines and comments from # to the end of a line are skipped. Types and lanes of operations follow from
/// their operands; whether those fit each other is asked of `verify`. Names of instructions are looked up in `known`,
/// those of functions that are called in `functions`.
///
/// Errors  parse_error "loop IR, line 7, column 12: expected .., found ..", for any text; nesting past 200 levels
///         and sums of more than 10000 terms are refused, so that no text exhausts the stack
/// Cost    O(size * names)
function parse(arena& m, std::string_view text, known_intrinsics known = {}, known_functions functions = {});

}  // namespace ir
}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/ir/parse.ipp"
#endif
