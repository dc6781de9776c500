// The rules that every loop program keeps, whichever pass made it.
#pragma once

#include <string>

#include "weft/ir/ir.hpp"

namespace weft::inline WEFT_ABI {
namespace ir {

/// Empty when `f` is sound, else the first violation in words, with the statement it stands in.
///
///   names        sizes, scalars and variables have one each; so have buffers
///   buffers      id is the position; arguments come first, `argument` is the position; shape and strides are scalar
///                i64 of literals and sizes, one of each per dimension; registers have rank 0 and only they have lanes
///   variables    are bound by one loop at a time and used inside it only; `first` names loops around
///   expressions  operands have the lanes of the operation, and its type (see base/op.hpp): bits and shifts on integers
///                (bits on bool too), remainders on integers, not/and/or on bool, comparisons give bool; exp is gone;
///                f16 and bf16 are loaded, stored, cast, bitcast and selected, no more
///   accesses     one scalar or vector i64 index per dimension; the access has the lanes of its vectors, all equal; a
///                mask is bool, of 1 lane or as many; a load's lanes may come from its mask alone; nothing is stored
///                where `written` is false; registers and the stack are used inside their allocate, and
///                so is a heap buffer that has one
///   self         only in the value of an accumulate, with the type of the buffer and the lanes of the access
///   before       empty, or as many indices as the buffer has dimensions; only of an accumulate
///
/// `first` may be empty: then no iteration is the first. Cost O(nodes) per statement, shared ones once.
std::string verify(function const& f);

}  // namespace ir
}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/ir/verify.ipp"
#endif
