// One of two TUs that both include all of weft and call one kernel. A body that is not inline fails to link in
// header-only mode, one that is missing from impl.hpp fails to link in compiled mode; two copies of a function have two
// addresses, and two copies of a kernel are compiled twice.
#include "two_units.hpp"

#include <cstdio>

int main() try {
  if (seen_here() != seen_there()) return 1;
  if (weft::find_instruments() == nullptr) return 4;  // <weft/debug.hpp> in one of them is there for both
  if (!call_there() || !call_here()) return 2;
  return weft::compilations() == 1 ? 0 : 3;
} catch (weft::device_error const& e) {
  std::printf("[skip] %s\n", e.what());
  return 77;
}
