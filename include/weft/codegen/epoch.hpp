// The number of the code generator, for code that outlives the process.
#pragma once

#include <cstdint>

#include "weft/config.hpp"

namespace weft::inline WEFT_ABI {

/// Raised with every change after which an equal program, schedule, layout and target may give other machine code, or
/// code that is called in another way (launch.hpp): of expand, lower, a pass, a code generator. Kernels on disk that an
/// older number made are then not found. tests/codegen/epoch.cpp notices most such changes.
inline constexpr std::uint32_t codegen_epoch = 35;

/// Raised when a rule (schedule/rules) has learned something that is better than what searches around the older one have found: results for
/// kernels without a how-lambda that were kept under an older number are then not found. (Kernels themselves are: their steps are in their keys.) A rule that has
/// changed without being better needs no new number: a result with other steps is not taken (tuned::steps), and the tuner replaces it; trials
/// have the first schedule's steps and its knobs in their keys.
inline constexpr std::uint32_t rules_epoch = 18;

}  // namespace weft::inline WEFT_ABI
