// The one place that reads the environment.
#pragma once

#include "weft/config.hpp"

namespace weft::inline WEFT_ABI {

/// The value of environment variable `name`, null when unset or empty; also null in a setuid program, since
/// the variables that weft reads name files to load. Known names:
///
///     WEFT_CACHE    where compiled kernels are kept: a directory, or off
///     WEFT_CHECKED, WEFT_DEBUG, WEFT_PERF   1: all kernels are compiled so (compile.hpp, options)
///     WEFT_LLVM     which LLVM: a major version (19) or the path of a libLLVM
///     WEFT_LOADER   orc: LLVM links objects instead of weft's own loader
///     WEFT_THREADS  how many threads a parallel loop may use, 1 or more
///     WEFT_DUMP     which texts go to stderr: a list of schedule, lower, pass, pass/NAME, llvm, asm
///     WEFT_TIME     1: what each compilation cost, on stderr
///     WEFT_VERIFY   1: the loop program is verified after each pass
///     XDG_CACHE_HOME, HOME   where kernels are kept otherwise
///     TMPDIR        where what a debugger reads is written, in a directory of the user's own
char const* environment(char const* name);

/// Variable `name` as a decimal number; `otherwise` when unset, malformed or outside lowest..highest.
int environment_number(char const* name, int lowest, int highest, int otherwise);

}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/base/env.ipp"
#endif
