// Whether a program is one that every later part of weft may be given.
#pragma once

#include <string>

#include "weft/expr/program.hpp"

namespace weft::inline WEFT_ABI {

/// What is wrong with a canonical program, in one sentence; empty when nothing is.
///
/// The face (face.hpp) makes only programs that pass; what comes from a text or a fuzzer is asked. Holds:
///   numbers   each index is in range, each operand is a node before its user, no expression is nested deeper
///             than 2000 (later parts recurse over it)
///   types     each operation has the operand types that base/op.hpp gives a meaning to
///   stages    axes are numbered stage by stage, spatial ones first; the shape is what the spatial axes run
///             over; a body uses the axes of its own stage and reads inputs and earlier stages
/// Cost O(nodes); O(inputs) for each node that is a scalar.
std::string fault_of(program const& p);

}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/expr/verify.ipp"
#endif
