// What the interpreter is given beside the function: memory, and how it runs.
#pragma once

#include <cstdint>
#include <string_view>

#include "weft/config.hpp"

namespace weft::inline WEFT_ABI {

namespace ir {
struct buffer;
}

/// One pointer of a call: `elements` of them may be touched, from `data` on (bool: a byte, 0 or 1).
struct interp_argument {
  void* data = nullptr;
  std::int64_t elements = 0;
  bool initialised = true;  // false: an output, not to be read before it is written
};

/// One access of memory that threads share: elements side by side of one load or store in one thread. Those of a warp that agree in
/// `site`, `block` and `when` are one instruction of the GPU.
struct interp_access {
  ir::buffer const* buf = nullptr;
  void const* site = nullptr;  // the load or the statement
  std::uint64_t block = 0;     // which one, as a hash of the loops over blocks
  std::uint64_t when = 0;      // the iteration of the other loops around it, as a hash
  std::int64_t thread = 0;     // of the block, x first
  std::int64_t first = 0, bytes = 0;  // from the begin of the buffer on
  bool is_shared = false;      // a block's own memory; else an argument or the workspace
  bool writes = false;
};

struct interp_options {
  std::uint64_t seed = 1;                                  // of the order in which parallel iterations run
  std::int64_t max_operations = std::int64_t(1) << 32;     // lanes computed and statements begun; then a fault
  std::int64_t max_heap_elements = std::int64_t(1) << 28;  // per intermediate buffer
  std::string_view steps;                                  // of its schedule, as print_trace writes them: a fault names those to blame
  void (*observe)(void* observer, interp_access const&) = nullptr;  // told of each access but those of tiles of matrix units
  void* observer = nullptr;
};

}  // namespace weft::inline WEFT_ABI
