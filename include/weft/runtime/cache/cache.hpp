// Compiled kernels on disk: compiled once, then loaded by every process, without LLVM.
//
// docs/cache.md tells where they are, what is trusted, and what it costs.
#pragma once

#include <cstdint>
#include <string>

#include "weft/base/sequence.hpp"
#include "weft/runtime/cache/entry.hpp"

namespace weft::inline WEFT_ABI {
/// The cache of this process: what is in it, and where it is. All functions: from any thread; none throws for what is
/// wrong with files, and a cache that cannot be used never makes a call of a kernel fail. In the child of a fork as `host`.
///
///     WEFT_CACHE=DIR   keeps the kernels in DIR instead of $XDG_CACHE_HOME/weft or $HOME/.cache/weft
///     WEFT_CACHE=off   keeps none (as does 0)
namespace cache {

/// One kernel on disk, for people.
struct stored {
  std::string kernel, target, llvm, version;
  std::int64_t bytes = 0, age_s = 0;  // since it was compiled or, roughly, used
};

/// What is in the cache, and what this process had of it.
struct report {
  std::string status;  // as `status()`
  sequence<stored> kernels;  // the latest first
  std::int64_t bytes = 0, limit = 0;
  std::int64_t unreadable = 0;  // files that hold no kernel of this format, whole and ours
  std::uint64_t hits = 0, misses = 0;
  /// A table: kernel, target, bytes, age; a line for each, long names cut.
  std::string text() const;
};
/// Cost reads every file
report inspect();

/// "used: DIRECTORY", or "not used: " and why.
std::string status();

/// Removes all kernels from the directory; answers how many.
std::int64_t clear();

/// Keeps kernels in `path` from now on, whatever the environment says; "" goes back to that. What was compiled stays
/// where it is.
void set_directory(std::string path);

/// Neither reads nor keeps kernels until `enable`. For programs that must write nothing.
void disable();
/// Takes `disable` back.
void enable();

/// How many bytes the kernels may take, 256 MiB at first. When new ones exceed it, those go that were not used for
/// longest; it is looked at now and then, so it may be exceeded by a sixteenth.
void set_limit(std::int64_t bytes);

// For compile/ and compile.hpp ---------------------------------------------------------------------------------------------
/// The kernel of this key, if it is on disk, whole and ours; `into` points into `bytes`.
/// Cost 30 us
bool find(std::string_view key, std::string& bytes, entry& into);
/// Keeps a kernel; when that cannot be done, it does nothing.
void keep(entry const& e);
/// The directory, empty when none is used; with `make` it is there.
std::string directory_in_use(bool make = false);

}  // namespace cache
}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/runtime/cache/cache.ipp"
#endif
