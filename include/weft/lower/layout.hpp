// What the code of a call is made for: the shapes and strides of its tensors, or the names of those that stay open.
#pragma once

#include <cstdint>
#include <string>

#include "weft/base/sequence.hpp"

namespace weft::inline WEFT_ABI {

/// A stride that is no number in the code.
inline constexpr std::int64_t open_stride = std::int64_t(-0x7fffffffffffffff) - 1;

/// What the kernel may assume of one tensor argument.
///
/// An extent below -1 is open: the number is that of its name (dim_text), and equal names are equal sizes, 1 to
/// 2^40, which the code reads from launch::sizes. Of an output -1 is one that follows from open ones.
struct argument_layout {
  sequence<std::int64_t> extents, strides;  // strides in elements
  std::int32_t alignment = 1;                  // bytes
  std::int32_t alias_class = 0;                // equal for arguments that may share memory
  bool packed = false;  // row-major without gaps, so that the strides follow from the extents
  bool constant = false;  // what is made of it may be kept for later calls (prepack)
};

/// The strides as a rule is told them: one of a dimension of one element, or none, may be anything, and moves nothing; it is 0 where it is further than memory is long.
inline sequence<std::int64_t> strides_that_move(argument_layout const& a) {
  constexpr std::int64_t far = std::int64_t(1) << 48;
  sequence<std::int64_t> all = a.strides;
  for (std::size_t d = 0; d < all.size(); ++d)
    if ((a.extents[d] == 0 || a.extents[d] == 1) && (all[d] > far || all[d] < -far)) all[d] = 0;
  return all;
}

/// What the code of an open extent counts on beside its name.
struct open_range {
  std::int64_t name = 0;
  std::int64_t low = 1, high = std::int64_t(1) << 40;  // calls with other sizes are for other code
  std::int32_t shift = 0;   // 2^shift divides it
  std::int64_t likely = 0;  // what a rule plans for (schedule/rules); 0: nothing is known. No part of the code
};

/// The tensors of a call: inputs in the order of the what-lambda's parameters, then outputs.
struct call_layout {
  sequence<argument_layout> arguments;
  sequence<open_range> ranges{};  // of the open extents of which more is known than that they are 1 to 2^40
  bool multiples = false;         // asked for: that 16 divides an open extent is in the code where it is true of the first call
  open_range range_of(std::int64_t name) const {
    for (open_range const& r : ranges)
      if (r.name == name) return r;
    return {name};
  }
};

/// A number of launch::sizes: where it stands in the call.
struct open_size {
  std::int32_t argument = 0, dim = 0;  // the first one of that name
  bool is_stride = false;
  std::int64_t name = 0;
  std::int32_t shift = 0;  // launch::sizes has the extent divided by 2^shift
};
/// All of them, in the order of launch::sizes.
sequence<open_size> open_sizes_of(call_layout const& layout);
/// The name of an open extent: at most eight characters of 7 bits, the first one lowest, below -2.
std::string dim_text(std::int64_t code);

/// What becomes of a vectorized axis that does not divide. partition: full tiles without masks, and a second copy of
/// the tile for the last one. mask: one copy, masked throughout, where the target masks for nothing (AVX-512).
/// Measured on matmul 1023^3 with 6 x 64 tiles: equal speed, half the code, and compiled in 9 ms instead of 15.
enum class vector_tails : std::uint8_t { partition, mask };
/// Whether a result that is the same along an axis is stored once along it.
enum class narrow_memory : bool { no, yes };

}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/lower/layout.ipp"
#endif
