#include "weft/cuda.hpp"
#include "weft/matrix_units.hpp"

namespace weft::inline WEFT_ABI {

/// Those that a rule may pick. Only weft::compiled has them, as instructions_by_rule.
WEFT_DECL known_intrinsics detail::matrix_units_by_rule() {
  static intrinsic const* const all[] = {&mma_f16, &mma_bf16, &mma_s8, &mma_u8};
  return {all, 4};
}

}  // namespace weft::inline WEFT_ABI
