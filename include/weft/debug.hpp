// What `options` stand for: checked code, and kernels that debuggers and profilers see. docs/debugging.md
//
// Include it in one file of a header-only program, whichever; with weft::compiled it is always there.
#pragma once

#include "weft/compile.hpp"

#if WEFT_HEADER_ONLY
#include "weft/debug.ipp"
#endif
