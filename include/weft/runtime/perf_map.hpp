// Where a kernel's functions stand, for `perf`.
#pragma once

#include <string_view>

#include "weft/base/sequence.hpp"

namespace weft::inline WEFT_ABI {
namespace runtime {

/// One function of an object in memory.
struct code_symbol {
  std::string_view name;
  char const* begin = nullptr;
  std::size_t bytes = 0;
};

/// The functions of an object whose `symbol` stands at `entry`, whoever linked it; they stand together as they do in the
/// object. `text`: where the section begins. Empty for what is no such object.
sequence<code_symbol> functions_of(std::string_view object, std::string_view symbol, void const* entry,
                                   char const*& text, std::uint32_t& text_section);

/// Appends a line for each function to /tmp/perf-PID.map, which only this user can write; whatever is wrong with that file,
/// nothing happens. A child after fork has a file of its own, without the kernels from before.
/// Threads any. Cost 30 us
/// Source  Linux, tools/perf/Documentation/jit-interface.txt
void write_perf_map(std::string_view object, std::string_view symbol, void const* entry);

}  // namespace runtime
}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/runtime/perf_map.ipp"
#endif
