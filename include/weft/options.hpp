// How code is compiled beside what it computes.
#pragma once

#include <cstdint>

#include "weft/config.hpp"

namespace weft::inline WEFT_ABI {

struct options;
/// What of `o` decides which code is wanted, as bits.
constexpr std::uint32_t code_wanted(options const& o);
/// How code is compiled beside what it computes, `kernel.with({.checked = true})`; docs/debugging.md. All kernels of a
/// program by an environment variable each. The first three need <weft/debug.hpp> in one file of the program, or
/// weft::compiled.
struct options {
  bool checked = false;  // WEFT_CHECKED=1: each access is looked at, in code without vectors
  bool debug = false;    // WEFT_DEBUG=1: a debugger sees the loop program as the source; not kept on disk
  bool perf = false;     // WEFT_PERF=1: its functions are listed for `perf`
  bool plain = false;    // WEFT_PLAIN=1: where no schedule is given, the plain nest in place of one by rule
  bool bitwise = false;  // WEFT_BITWISE=1: a schedule by rule takes the terms of no reduction in another order
  /// WEFT_BACKGROUND=1: a first call runs simple code, and does not wait for the fast one (weft/shapes.hpp).
  bool background = false;
  /// WEFT_EXACT_SHAPES: after code for so many shapes of its arguments a kernel gets code for many (weft/shapes.hpp); 0: from the
  /// first call on. -1: as the variable says, or 8.
  std::int32_t exact_shapes = -1;
  /// Whether the same code is wanted.
  constexpr bool operator==(options const& o) const { return code_wanted(*this) == code_wanted(o); }
  /// Whether one is asked for that needs debug.hpp.
  constexpr bool any() const { return checked || debug || perf; }
};
[[gnu::always_inline]] constexpr std::uint32_t code_wanted(options const& o) {
  return std::uint32_t(o.checked) | std::uint32_t(o.debug) << 1 | std::uint32_t(o.perf) << 2 | std::uint32_t(o.plain) << 3 | std::uint32_t(o.bitwise) << 4;
}

}  // namespace weft::inline WEFT_ABI
