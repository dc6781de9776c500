// The number of the code generator, for code that outlives the process.
#pragma once

#include <cstdint>

#include "weft/config.hpp"

namespace weft::inline WEFT_ABI {

/// Raised with every change after which an equal program, schedule, layout and target may give other machine code, or
/// code that is called in another way (launch.hpp): of expand, lower, a pass, a code generator. Kernels on disk that an
/// older number made are then not found. tests/codegen/epoch.cpp notices most such changes.
inline constexpr std::uint32_t codegen_epoch = 13;

}  // namespace weft::inline WEFT_ABI
