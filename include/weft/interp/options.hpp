// What the interpreter is given beside the function: memory, and how it runs.
#pragma once

#include <cstdint>
#include <string_view>

#include "weft/config.hpp"

namespace weft::inline WEFT_ABI {

/// One pointer of a call: `elements` of them may be touched, from `data` on (bool: a byte, 0 or 1).
struct interp_argument {
  void* data = nullptr;
  std::int64_t elements = 0;
  bool initialised = true;  // false: an output, not to be read before it is written
};

struct interp_options {
  std::uint64_t seed = 1;                                  // of the order in which parallel iterations run
  std::int64_t max_operations = std::int64_t(1) << 32;     // lanes computed and statements begun; then a fault
  std::int64_t max_heap_elements = std::int64_t(1) << 28;  // per intermediate buffer
  std::string_view steps;                                  // of its schedule, as print_trace writes them: a fault names those to blame
};

}  // namespace weft::inline WEFT_ABI
