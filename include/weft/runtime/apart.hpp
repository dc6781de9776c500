// Whether two tensors that lie among each other share an element.
#pragma once

#include "weft/runtime/argument.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

/// Whether no byte belongs to both: columns of one matrix, blocks side by side, even and odd elements.
///
/// Exact where the larger strides of both are the same, in bytes, and each dimension steps over what the smaller ones
/// reach; else it says no as soon as the addresses between the first and the last element of each meet.
/// Cost  100 ns
bool apart(argument const& a, argument const& b);

}  // namespace detail
}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/runtime/apart.ipp"
#endif
