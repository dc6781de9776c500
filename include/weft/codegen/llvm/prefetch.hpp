// What a loop asks for ahead of time, as lines of a buffer.
#pragma once

#include "weft/ir/ir.hpp"

namespace weft::inline WEFT_ABI {
namespace codegen::llvm::detail {

/// An access, as the element of its buffer where it begins: what it reads or writes now, and what a later iteration will. Asked for is the line of its last element.
struct asked_line {
  ir::expr now, ahead;
  bool written;
  std::int64_t last;  // elements behind the first
};

/// What each iteration of a loop asks for, as so many lines at equal distances. All in elements.
struct lines_of_rows {
  ir::expr first = nullptr;  // where the first one of an iteration is
  std::int64_t lines = 0, apart = 0;
  std::int64_t next = 0;  // from there to the first one of the next iteration

  /// Whether `asked` are such, in iterations of the loop of `variable`: if not, nothing is said of the members. There is one of them or more.
  bool find(ir::arena& m, std::int32_t variable, ir::buffer const* buf, sequence<asked_line> const& asked);
};

}  // namespace codegen::llvm::detail
}  // namespace weft::inline WEFT_ABI
