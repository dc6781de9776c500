// The one place that reads the environment.
#pragma once

#include "weft/config.hpp"

namespace weft::inline WEFT_ABI {

/// The value of environment variable `name`, null when unset or empty; also null in a setuid program, since
/// the variables that weft reads name files to load. Known names:
///
///     WEFT_CACHE    where compiled kernels are kept: a directory, or a switch: off, on
///     WEFT_BACKGROUND, WEFT_EXACT_SHAPES   a switch and a number: calls do not wait; many shapes (shapes.hpp)
///     WEFT_CHECKED, WEFT_DEBUG, WEFT_PERF   switches: all kernels are compiled so (options.hpp)
///     WEFT_PLAIN, WEFT_BITWISE   switches: no schedules by rule; none that adds in another order (options.hpp)
///     WEFT_CUDA     the path of another CUDA driver than libcuda.so.1
///     WEFT_NVRTC    the path of another NVRTC than libnvrtc.so.13 or .12
///     WEFT_LINEINFO   a switch: code for GPUs says which line of its text an instruction is of, for profilers
///     WEFT_LLVM     which LLVM: a major version (19) or the path of a libLLVM
///     WEFT_LOADER   orc: LLVM links objects instead of weft's own loader
///     WEFT_THREADS  how many threads a parallel loop may use, 1 or more
///     WEFT_WORKER   the program in which candidates of a tuner run: weft-worker, by its path or on PATH (tune/worker.hpp)
///     WEFT_DUMP     which texts go to stderr: a list of schedule, lower, pass, pass/NAME, llvm, asm
///     WEFT_TIME     a switch: what each compilation cost, on stderr
///     WEFT_VERIFY   a switch: the loop program is verified after each pass
///     XDG_CACHE_HOME, HOME   where kernels are kept otherwise
///     TMPDIR        where what a debugger reads is written, in a directory of the user's own
char const* environment(char const* name);

/// What a switch says, in whichever case: 1 for 1, true, yes, on; 0 for 0, false, no, off; else -1.
int switch_value(char const* text);

/// Whether variable `name` is on. What is no switch leaves it off, and is named on stderr, once in a process.
bool environment_switch(char const* name);

/// Variable `name` as a decimal number; `otherwise` when unset, or malformed or outside lowest..highest, which is named on
/// stderr each time.
int environment_number(char const* name, int lowest, int highest, int otherwise);

}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/base/env.ipp"
#endif
