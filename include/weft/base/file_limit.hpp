// How large a file may become.
#pragma once

#include <cstdint>

#include "weft/config.hpp"

namespace weft::inline WEFT_ABI {

/// Whether this process may write files of `bytes` bytes. A write beyond its limit (`ulimit -f`) is answered by a signal,
/// which ends a program that does not expect it: so whoever writes a file asks first, and fails as if the disk were full.
bool file_may_hold(std::int64_t bytes);

}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/base/file_limit.ipp"
#endif
