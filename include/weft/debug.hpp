// What `options` stand for: checked code, and kernels that debuggers and profilers see. docs/debugging.md
//
// Include it in one file of a header-only program, whichever, behind <weft/weft.hpp>: in front of it, an optimising build
// takes longer. With weft::compiled it is always there.
#pragma once

#include "weft/compile.hpp"

#if WEFT_HEADER_ONLY
#include "weft/foreign.hpp"
WEFT_COLD_BEGIN
#include "weft/debug.ipp"
WEFT_COLD_END
#endif
