// What a tuner found best for a kernel, kept beside the kernels themselves: a small file per task.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "weft/codegen/target.hpp"
#include "weft/lower/layout.hpp"
#include "weft/runtime/cache/directory.hpp"
#include "weft/schedule/schedule.hpp"

namespace weft::inline WEFT_ABI {
namespace cache {

/// The best choices of knob values that were measured for a task.
struct tuned {
  sequence<std::int32_t> choices;  // schedule::choices
  std::uint64_t steps = 0;         // hash of the trace that they make
  double ns = 0;                   // a call took
  std::int64_t trials = 0;         // that were measured
  std::uint8_t plan = 0;           // of a rule: rule_input::plan
  friend bool operator==(tuned const&, tuned const&) = default;
};

/// What a result is for: a kernel's key (key.hpp) for the steps that its how-lambda takes with each knob's first value, the
/// knobs with all their values, and what of the machine steers schedules only: caches and threads. Whoever edits the
/// computation, the knobs, or what the first values lead to, has a new task; of other values tuned::steps tells. `bitwise`: of calls that want the terms of sums in their own order; what is found for others
/// is nothing for them. Where a rule writes the schedule `first` is an empty one: the computation and the machine say what it would be, and
/// rules_epoch stands for the rules, so that a look-up need not run them first. `threads`: those that calls run by, where they are not the machine's.
std::string task_key(std::string_view name, program const& what, schedule const& first, call_layout const& layout,
                     target const& machine, bool bitwise = false,
                     std::string_view beginning = {}, int threads = 0);

/// The key of the same task for bitwise calls.
std::string bitwise_key(std::string task);

/// The bytes of a file, with the key and a checksum in it, and back; false for any other bytes.
std::string encode(std::string_view key, tuned const& t);
bool decode(std::string_view bytes, std::string_view& key, tuned& into);

/// What is kept for this task.
/// Cost as cache::find: an open, a read and a checksum, of fewer bytes (that one takes 9 to 13 us, docs/performance.md)
bool find_tuned(std::string_view key, tuned& into);
/// The same in a directory that is open: a look-up asks for several files.
bool find_tuned(directory const& where, std::string_view key, tuned& into);

/// Keeps it, unless a faster one is kept already; with `replace` in any case, or, where `seen` is given, while what is kept is still that one. True:
/// it stands on disk now. What was imported (`trials` is 0) never takes the place of what was measured, which always takes that of the former; a
/// result of another task whose key has the same hash stays unless it gives way so. The file is put in place whole; of several processes the fastest result stays.
/// `why_not`, where it is given, says why it does not.
bool keep_tuned(std::string_view key, tuned const& t, bool replace = false, tuned const* seen = nullptr, std::string* why_not = nullptr);

/// Removes what is kept for this task.
bool forget_tuned(std::string_view key);

}  // namespace cache
}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/runtime/cache/tuned.ipp"
#endif
