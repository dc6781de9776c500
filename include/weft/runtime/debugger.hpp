// What a debugger is told of a kernel: an object file in memory, by the interface that GDB and LLDB watch; and the text
// that its lines name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "weft/config.hpp"

// What debuggers read, as they know it.
extern "C" {
struct weft_jit_code_entry {
  weft_jit_code_entry *next, *previous;
  char const* object;
  std::uint64_t bytes;
};
struct weft_jit_descriptor {
  std::uint32_t version, action;  // 1: an entry is new, 2: it goes
  weft_jit_code_entry *relevant, *first;
};
extern weft_jit_descriptor __jit_debug_descriptor;
}

namespace weft::inline WEFT_ABI {
namespace runtime {

/// Tells debuggers of the object whose `symbol` stands at `entry`; the answer takes it back by untell_debugger. Null
/// for what is no object.
///
/// Threads any, as far as weft goes: another compiler in the process whose list is the same has a lock of its own
/// Cost    a copy of the object; with a debugger attached, milliseconds
/// Source  GDB manual, "JIT Compilation Interface"
void* tell_debugger(std::string_view object, std::string_view symbol, void const* entry);
void untell_debugger(void* told);

/// Writes `text` to a file named after `name` and the text, in a directory of the user's own, weft-UID in $TMPDIR or
/// /tmp; the same text is written once. Answers directory and file, empty when that cannot be done.
struct source_file {
  std::string directory, file;
};
source_file write_source(std::string const& name, std::string_view text);

}  // namespace runtime
}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/runtime/debugger.ipp"
#endif
