// What the kernel told the process when it began.
#pragma once

#include "weft/config.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

inline constexpr unsigned long auxiliary_program_headers = 3, auxiliary_hwcap = 16, auxiliary_secure = 23, auxiliary_hwcap2 = 26;

/// getauxval of libc, by a name of our own: <sys/auxv.h> would leave the 3,000 macros of <elf.h> in the user's file.
///
/// Source  getauxval(3); Linux include/uapi/linux/auxvec.h for the numbers
extern "C" unsigned long weft_auxiliary_value(unsigned long which) __asm__("getauxval");

}  // namespace detail
}  // namespace weft::inline WEFT_ABI
