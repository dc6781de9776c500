// Where a kernel's functions stand, for `perf`.
#pragma once

#include <string_view>

#include "weft/config.hpp"

namespace weft::inline WEFT_ABI {
namespace runtime {

/// Appends a line for each function of an object whose `symbol` stands at `entry` to /tmp/perf-PID.map, which only this
/// user can write; whatever is wrong with that file, nothing happens. A child after fork has a file of its own, without
/// the kernels from before. Threads any. Cost 30 us Source  Linux, tools/perf/Documentation/jit-interface.txt
void write_perf_map(std::string_view object, std::string_view symbol, void const* entry);

}  // namespace runtime
}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/runtime/perf_map.ipp"
#endif
