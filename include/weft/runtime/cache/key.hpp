// What the code of a kernel follows from, as bytes: equal keys, equal code.
#pragma once

#include <string>
#include <string_view>

#include "weft/codegen/target.hpp"
#include "weft/expr/program.hpp"
#include "weft/lower/lower.hpp"
#include "weft/schedule/schedule.hpp"

namespace weft::inline WEFT_ABI {
namespace cache {

/// The key of a kernel: weft's version and codegen_epoch, the numbering of its operations, name, target, the LLVM that
/// WEFT_LLVM asks for, the canonical program (captured values are literals in it), the steps with the knobs' values
/// resolved, of each argument extents (open ones by name), strides, alignment and alias class, and whether the code is
/// checked.
///
/// What only steers a schedule (caches, threads, knobs not taken) is not in it: the steps are. Nor is anything that
/// differs from run to run: types' names, addresses, run-time scalars.
/// `beginning`: what beginning_of_keys says, where it is known.
/// Cost 4 us for a matmul
std::string key_of(std::string_view name, program const& what, trace const& steps, call_layout const& layout,
                   target const& machine, bool checked = false, std::string_view beginning = {});

/// What all keys of a computation on a machine begin with: everything but steps and layout. For who writes several.
std::string beginning_of_keys(std::string_view name, program const& what, target const& machine);

/// The same without what differs between shapes and between machines with the same instructions: of steps neither factors nor
/// numbers, of arguments neither extents nor strides. It is for results that may be tried on each other (relatives.hpp), not for code.
std::string shapeless_key_of(std::string_view name, program const& what, trace const& steps, call_layout const& layout,
                             target const& machine, std::string_view beginning = {});

/// A hash of steps without factors and numbers: what is alike in them for other sizes.
std::uint64_t form_of(trace const& steps);

/// What the head of a key says, for people.
struct key_head {
  std::string_view version, kernel, target;
};
key_head head_of(std::string_view key);
/// Whether this version, with its codegen_epoch, writes such keys: what has others is never found. (By rule rules_epoch counts, too, and is not looked at.)
bool is_of_this_version(std::string_view key);

}  // namespace cache
}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/runtime/cache/key.ipp"
#endif
