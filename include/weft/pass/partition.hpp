// Loops over vectors are cut where what they ask about their edges is decided, and asked once what no iteration changes.
#pragma once

#include "weft/ir/ir.hpp"

namespace weft::inline WEFT_ABI {

/// Cuts a serial loop over vectors in three, so that its middle needs no clamp, no mask and no choice that only its ends need.
///
///     for jo in 0..80:                              for jo in 0..1:    y[..] = x[max(ramp(jo * 32 - 1, 2, 16), 0)]
///       y[..] = x[max(ramp(jo * 32 - 1, 2, 16), 0)] ->  for jo in 1..80: y[..] = x[ramp(jo * 32 - 1, 2, 16)]
///
/// where a remainder, as of a border that wraps around or mirrors, is a difference if all lanes of all these iterations have one quotient. So it
/// cuts loops around others, where lanes hang on their variables alone, as of columns of tiles, and those of two or three iterations into these. Each
/// iteration that threads share asks whether it has an edge:
///
///     for i in 0..80 parallel:                      for i in 0..80 parallel:
///       y[..] = x[..] where ramp(i * 16, 1, 16) < 1270 ->  if i < 79: y[..] = x[..]    else: y[..] = x[..] where ramp(1264, 1, 16) < 1270
///
/// It makes a loop without them beside it where an edge is near in some of the iterations around alone, as in tiles,
///
///     for t in 0..8:                                     for t in 0..8:
///       for jo in 0..10:                                   if 0 <= t * 160 - 1: for jo in 0..10: y[..] = x[ramp(t * 160 + jo * 16 - 1, 1, 16)]
///         y[..] = x[max(ramp(t * 160 + jo * 16 - 1, 1, 16), 0)] ->  else:                for jo in 0..10: y[..] = x[max(ramp(..), 0)]
///
/// and makes one loop each for what a choice that no iteration changes comes to:
///
///     for jo in 0..80:                              if r % 2 == 0: for jo in 0..80: y[..] = a
///       y[..] = select(r % 2 == 0, a, b)     ->     else:          for jo in 0..80: y[..] = b
///
/// What leaves everything as it is, as terms do that `where` leaves out of a sum, is asked in front of the loop, or becomes its bounds:
///
///     for n in 0..3:                                                    for n in max(0, 1 - y)..min(3, 15 - y):
///       s = select(broadcast(0 <= y + n - 1 < 14, 16), s + x, s)   ->     s = s + x
///
/// and of conditions that only some of the statements hang on a loop without them stands beside, for where the loops around say that they hold.
///
/// Conditions that vectors share are for loops that have no loop inside, and so are edges of which the loops around say. The middle is most of a
/// loop of literal length; of others, and of tiles, the one in the middle has none of these edges. The same is computed in the same order. Runs behind `promote`, for which a loop that is cut would be three that come back to their
/// elements, and once: a loop that is left for tiles at an edge would be parted again.
///
/// `open`: sizes are. Loops around others are cut, too, two of them around one another at most, each written out four times, and what is divided by a size is what it was where that
/// is larger. What most iterations are is guessed of sizes of 1,000; where the edges are is computed for each. Cost O(nodes) for loops that stay as they are, and one `simplify` where one does not.
/// Source  Halide's loop partitioning; loop unswitching (Allen and Cocke, A catalogue of optimizing transformations, 1971)
ir::stmt partition(ir::arena& m, ir::stmt s, bool open = false);

}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/pass/partition.ipp"
#endif
