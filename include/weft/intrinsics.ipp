#include "weft/compile.hpp"
#include "weft/intrinsics.hpp"

namespace weft::inline WEFT_ABI {

/// Those that a rule may pick, best first. Only weft::compiled has them: in a header-only program each file would read their
/// declarations, which takes a quarter of a second (g++ 12).
WEFT_DECL known_intrinsics detail::instructions_by_rule() {
  static intrinsic const* const all[] = {&vpdpbusd, &vdpbf16ps};
  return {all, 2};
}

}  // namespace weft::inline WEFT_ABI
