// Rounding to integers for machines that have no instruction for it.
#pragma once

#include "weft/ir/ir.hpp"

namespace weft::inline WEFT_ABI {
namespace codegen {

/// The value of `e`, a floor, ceil, trunc or round, in other operations; the same bits.
///
/// |x| + 2^23 - 2^23 (f64: 2^52) is |x| rounded to nearest even; the other three correct it by 1. What is not smaller
/// than 2^23 is an integer, infinite or NaN and stays. Seven to ten operations; x86-64 before SSE4.1 needs it.
ir::expr rounded_by_arithmetic(ir::arena& m, ir::expr e);

}  // namespace codegen
}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/codegen/rounding.ipp"
#endif
