// One stage of a program in one line, for humans.
#pragma once

#include <string>

#include "weft/expr/program.hpp"

namespace weft::inline WEFT_ABI {

/// Stage number `stage` in one line, its axes named i, j, k, ... and then the reduced ones:
///
///     C[i, j] = sum over k < A.extent(1) of A[i, k] * B[k, j]
///
/// Longer than about 160 characters it ends in "...".
std::string formula(program const& p, int stage);

namespace detail {
/// What formula writes behind `C[i, j]`, as the loop nest shows it: `" += A[i, k] * B[k, j]"`, cut likewise.
std::string update_text(program const& p, int stage);
/// `C[i, j]`, or `re[i], im[i]` of a stage of several results
std::string elements_text(program const& p, int stage);
std::string element_text(program const& p, int tensor);
/// Node `id` in infix notation: `A.extent(0) + 2`.
std::string expression_text(program const& p, int id);
/// A literal, of floats as few digits as give the number back: `0.1`, `3`, `true`.
std::string literal_text(dtype type, std::int64_t bits);
/// A tensor in a text: its name, or @number if that says it better.
std::string tensor_text(program const& p, int tensor);
}  // namespace detail

}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/expr/formula.ipp"
#endif
