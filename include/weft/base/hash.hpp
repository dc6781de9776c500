// A checksum of bytes, against accidents.
#pragma once

#include <cstdint>
#include <string_view>

#include "weft/config.hpp"

namespace weft::inline WEFT_ABI {

/// XXH64 of `bytes` with seed 0. It finds what disks and crashes do to bytes; whoever can write them can also write
/// the checksum that fits.
///
/// Cost    6 us for 64 KB (-O2)
/// Source  Collet, xxHash fast digest algorithm, version 0.1.1, section "XXH64 algorithm"
std::uint64_t xxh64(std::string_view bytes);

}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/base/hash.ipp"
#endif
