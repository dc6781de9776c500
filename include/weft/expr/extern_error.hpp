// How a call ends in which a function of the user's has failed.
#pragma once

#include "weft/expr/program.hpp"

namespace weft::inline WEFT_ABI {

/// The function of that stage, the `number`-th of those that functions compute, answered `code`.
///
/// Errors  extern_error "spectrum: stage F: function my_fft answered 3; outputs are not complete"
[[noreturn]] void raise_extern(std::string_view kernel, program const& p, std::int32_t number, std::int32_t code);

}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/expr/extern_error.ipp"
#endif
