// The format of object files, as far as weft reads it. For .ipp files only.
#pragma once

#include <cstdint>

#include "weft/config.hpp"

namespace weft::inline WEFT_ABI {
namespace runtime {
namespace detail {

// The parts of <elf.h> that are needed, which would define 3,000 macros in the user's file.
struct elf_header {
  unsigned char ident[16];
  std::uint16_t type, machine;
  std::uint32_t version;
  std::uint64_t entry, program_headers, sections;
  std::uint32_t flags;
  std::uint16_t size, program_header_size, program_header_count, section_size, section_count, name_section;
};
struct elf_section {
  std::uint32_t name, type;
  std::uint64_t flags, address, offset, size;
  std::uint32_t link, info;
  std::uint64_t alignment, entry_size;
};
struct elf_symbol {
  std::uint32_t name;
  unsigned char info, other;
  std::uint16_t section;
  std::uint64_t value, size;
};
struct elf_relocation {
  std::uint64_t offset;
  std::uint32_t type, symbol;
  std::int64_t addend;
};
static_assert(sizeof(elf_header) == 64 && sizeof(elf_section) == 64 && sizeof(elf_symbol) == 24 &&
              sizeof(elf_relocation) == 24);
inline constexpr std::uint32_t section_symbols = 2, section_rela = 4, section_nobits = 8, section_rel = 9;
inline constexpr std::uint64_t flag_write = 1, flag_allocated = 2, flag_executable = 4, flag_tls = 0x400,
                               flag_compressed = 0x800;

}  // namespace detail
}  // namespace runtime
}  // namespace weft::inline WEFT_ABI
