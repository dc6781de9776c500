// Memory in which one number stands everywhere is not read.
#pragma once

#include "weft/ir/ir.hpp"

namespace weft::inline WEFT_ABI {

/// Puts the number in the place of each load from memory to which the kernel stores that number and nothing else:
///
///     Z[i] = 0.0                       Z[i] = 0.0
///     C[i] = A[i] + Z[i] where m   ->  C[i] = A[i] + 0.0 where m
///
/// A masked load becomes select(mask, number, 0). Runs where copies are made and simplified, when most numbers are known. Operands of an instruction stay loads. Memory that is written in any
/// other way stays as it is. It spares a fill its readers, and keeps from LLVM what its instruction selection may
/// learn of such memory and fold wrongly (0 / min(0, 1) of vectors is 0 there, in LLVM 19). Cost O(nodes)
ir::stmt known_elements(ir::function& f, ir::stmt s);

}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/pass/known_elements.ipp"
#endif
