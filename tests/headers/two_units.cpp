// One of two TUs that both include all of weft. A body that is not inline fails to link in header-only mode, one
// that is missing from impl.hpp fails to link in compiled mode; two copies of a function have two addresses.
#include "two_units.hpp"

int main() {
  addresses const here = seen_here();
  bool const same = here == seen_by_the_other_unit();
  // <weft/debug.hpp> in one of them is there for both.
  return same && weft::find_instruments() != nullptr && here.number("WEFT_NO_SUCH_VARIABLE", 0, 9, 7) == 7 ? 0 : 1;
}
