// Whether the shared library that this code is part of is being unloaded.
#pragma once

#include "weft/config.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {
// Hidden: each shared library asks for itself.
[[gnu::visibility("hidden")]] inline constinit bool unloading = false;

// Functions like this one run at dlclose before the destructors of static objects, and at the end of the program after
// them (System V ABI, DT_FINI_ARRAY; the linker puts __cxa_finalize's caller last of all in a library).
[[gnu::destructor, gnu::visibility("hidden")]] inline void note_unload() { unloading = true; }
}  // namespace detail

/// Asked in the destructor of a static object: true at dlclose, when nobody may be in the library's functions any more
/// and its memory goes; false at the end of the program, when other threads may still run, and all goes anyway.
inline bool library_is_unloaded() { return detail::unloading; }

}  // namespace weft::inline WEFT_ABI
