// The memory that an argument of a call reaches over, which is what a GPU gets a copy of.
#pragma once

#include "weft/runtime/argument.hpp"

namespace weft::inline WEFT_ABI {
namespace runtime {

/// The range of memory, in elements from the first one, that an argument reaches over.
struct gpu_reach {
  std::int64_t low = 0, high = 0;
  explicit gpu_reach(argument const& a) {
    for (int d = 0; d < a.rank; ++d) (a.strides[d] < 0 ? low : high) += a.strides[d] * (a.extents[d] - 1);
  }
  std::int64_t elements() const { return high - low + 1; }
};
/// Whether its reach has more elements than it has: between them are others', maybe another output of the same call.
bool has_gaps(argument const& a);
/// Writes the elements of an argument, and nothing between them, from a copy of its reach.
///
/// Cost    a copy of each run of elements that are next to each other
void put_elements(argument const& a, char const* copy);

}  // namespace runtime
}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/runtime/cuda/reach.ipp"
#endif
