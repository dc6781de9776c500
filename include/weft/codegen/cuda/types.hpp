// What the CUDA text calls things: types, literals, names.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "weft/base/dtype.hpp"
#include "weft/base/sequence.hpp"

namespace weft::inline WEFT_ABI {
namespace cuda_text {

/// The C++ type of an element: an i64 is a `long long`, as in CUDA's own intrinsics; f16 and bf16 are their bits in an
/// `unsigned short`, since pass/legalise has written out what computes with them.
std::string_view type_name(dtype t);

/// The exact value of `bits` (see to_bits). Integers are decimal; floats are decimal where they are small whole
/// numbers and hexadecimal otherwise; infinities and NaNs go by their bits.
/// `typed` gives an i64 its suffix; without it the place must make a long long of an int.
std::string literal(dtype t, std::int64_t bits, bool typed = true);

/// Identifiers of one kernel: hands out each only once, and none that means something to CUDA C++ or the prelude.
/// Cost    that of a look-up, however many there are
class names {
 public:
  std::string unique(std::string_view wanted);

 private:
  std::size_t slot_of(std::string_view name) const;
  void take(std::string const& name);
  sequence<std::string> taken_;
  sequence<std::int32_t> next_;   // by name: the first number behind it that may be free
  sequence<std::int32_t> slots_;  // a hash table of numbers of names, which are at most half of it; -1: empty
};

}  // namespace cuda_text
}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/codegen/cuda/types.ipp"
#endif
