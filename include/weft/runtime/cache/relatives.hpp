// What was found for other shapes of a kernel, or on another machine of the same architecture: for tasks that nobody has tuned.
#pragma once

#include <string>
#include <string_view>

#include "weft/codegen/target.hpp"
#include "weft/lower/layout.hpp"
#include "weft/runtime/cache/directory.hpp"
#include "weft/schedule/schedule.hpp"

namespace weft::inline WEFT_ABI {
namespace cache {

/// A tuned task among those of its family, and the best choices that were found for it.
struct relative {
  std::uint64_t task = 0;                    // number in the name of its own file (tuned.hpp)
  sequence<std::int64_t> machine, extents;   // caches and threads; of all tensors, one behind the other
  sequence<std::int64_t> names, values;      // of the knobs: hashes of their names, and the chosen values
  std::uint64_t form = 0;                    // of its steps without their numbers (key.hpp)
  std::uint8_t plan = 0;                     // of a rule: rule_input::plan
};

/// What tasks have in common that differ in nothing but shapes, knob values that hang on them, and the caches and threads of the
/// machine: the computation, the steps of the how-lambda without their numbers, the instructions of the processor; and `bitwise`,
/// as of task_key. Where a rule writes the schedule `first` is an empty one, as there; whether a relative's choices lead to steps like its own is
/// then seen by relative::form.
std::string family_key(std::string_view name, program const& what, schedule const& first, call_layout const& layout,
                       target const& machine, bool bitwise = false,
                     std::string_view beginning = {});

/// A task, as one of its family; without choices. Its extents are empty when some are open. `threads`: as of task_key; they stand behind
/// the machine's numbers, so that what was found for calls of other threads is another machine's.
relative described(std::string_view task, call_layout const& layout, target const& machine, int threads = 0);
/// The threads that a relative's calls have on a CPU, and whether two are of machines that differ in nothing else.
std::int64_t threads_of(relative const& r);
bool differ_in_threads_alone(relative const& a, relative const& b);
/// The choices of a schedule, as a relative has them, and its form.
void note_choices(relative& r, schedule const& s);

/// Puts it into the file of its family, a small one beside the kernels, in the place of what is there of the same task; the 64
/// that were kept last stay. What is imported takes the place of nothing that was measured here; false: there is none for it.
bool keep_relative(std::string_view family, relative const& r, bool imported = false);

/// Of those whose own result is still kept, the nearest: on a machine with the same caches and threads, then on any of this
/// architecture; of these the one with the least sum of |log2| of the extents' quotients. Of another shape, each extent is at most
/// twice or half as much: what is further off has other bottlenecks.
///
/// Cost  a read of a small file and a look at another one, where there is a family; else one file that is not there
bool find_relative(std::string_view family, relative const& wanted, relative& into);
/// Numbers of tasks that were looked at before.
struct tried_tasks {
  std::uint64_t const* numbers = nullptr;
  std::uint32_t count = 0;
};
/// The same in a directory that is open, and without these.
bool find_relative(directory const& where, std::string_view family, relative const& wanted, relative& into, tried_tasks without = {});

/// All of a family whose own result is still kept.
sequence<relative> all_of_family(directory const& where, std::string_view family);

/// Whether the result of this task was imported, and nobody has measured it here. For who asks for a reason: it reads the result.
bool is_imported(std::uint64_t task);

/// One relative as bytes, and back; false for any other bytes, and for numbers that none has. For what travels between machines.
std::string encode(relative const& r);
bool decode(std::string_view bytes, relative& into);
/// Of task number `task`, among the bytes of a family's file; false: it is not there, or they are no family's.
bool relative_in(std::string_view bytes, std::uint64_t task, std::string_view& family, relative& into);

}  // namespace cache
}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/runtime/cache/relatives.ipp"
#endif
