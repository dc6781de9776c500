// Memory for the elements of tensors.
#pragma once

#include <cstdint>

#include "weft/config.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

/// Not zeroed, at a multiple of 64 bytes, to be given back by std::free; null where there is none.
///
/// From 2 MiB on it begins at a multiple of that and asks for pages of that size, which systems that give them on request
/// (madvise, Debian's default) then take: a packed matrix of 4 MiB is in 2 pages, not in 1024, of which few processors
/// know the addresses of all at a time.
/// Cost  address space of up to 2 MiB more; memory is taken where it is first touched
void* element_memory(std::int64_t bytes);

}  // namespace detail
}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/base/memory.ipp"
#endif
