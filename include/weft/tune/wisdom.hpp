// What tuners have found, as text that can be carried to other machines of the same kind.
#pragma once

#include <string>
#include <string_view>

#include "weft/base/sequence.hpp"
#include "weft/config.hpp"

namespace weft::inline WEFT_ABI {
/// The results of `tune` that are kept on disk. One JSON object a line:
///
///     {"kernel": "matmul", "target": "x86-64-v4", "choices": [1, 0, 2], "ns": 15500, "steps": "9f..", "key": "0500..",
///      "family": "0500..", "relative": "a1.."}
///
/// `key` says what it is for, to the sizes of the caches and the number of threads; `family` and `relative` are for calls of other sizes, and for
/// machines with the same instructions that differ in caches and threads.
namespace wisdom {

/// All results in the directory of the cache, as lines. (`export` is a word of the language.)
std::string export_all();

/// What became of imported lines.
struct imported {
  int taken = 0;    // kept, for the first call to look at
  int known = 0;    // there is a result that was measured here, or one of the same text that is as fast: it stays
  int refused = 0;  // no such object, or its numbers are none that a result has; of another version of weft, or of its code generator (codegen_epoch), whose results no call looks for; or there is no directory to keep it in
  std::string why;  // of the first that was refused: "line 3: .."
};
/// Keeps the results of a text, which may come from anywhere. Each is looked at when it is used: the how-lambda, or the rule, is run with its
/// choices, and has to be legal and take the steps that the text tells of; else it is as if it were not there. On a machine with other caches or
/// threads, and for other sizes, the knobs have the values that it tells of, and what they make has to be legal here and fit the registers. What
/// lowering refuses is as if it were not there, too. Whoever wrote the text can thus make a kernel slow, and its first call end the program where LLVM, given a
/// legal schedule, does so by a fault of its own: here nobody has tried it in a worker. No step changes a result but the
/// order of a sum of floats, and calls that are `bitwise` take nothing of a how-lambda that was not compared here. A tuning here takes the place of what was imported.
///
/// See     weft::schedule_reason, which says that a schedule was imported
imported import_lines(std::string_view text);

/// Removes all results; answers how many.
int forget_all();

}  // namespace wisdom
}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/tune/wisdom.ipp"
#endif
