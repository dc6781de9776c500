#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "weft/runtime/loader.hpp"
#include "weft/runtime/perf_map.hpp"

namespace weft::inline WEFT_ABI {
namespace runtime {
namespace detail {

/// A relocatable ELF object, read with every offset looked at.
struct object_reader {
  std::string_view bytes;
  elf_header head{};
  template <class T>
  bool read(std::uint64_t offset, T& into) const {
    if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return false;
    std::memcpy(&into, bytes.data() + offset, sizeof(T));
    return true;
  }
  explicit object_reader(std::string_view b) : bytes(b) {
    if (!read(0, head) || std::memcmp(head.ident, "\x7f" "ELF\2\1\1", 7) != 0 || head.section_size != sizeof(elf_section))
      head.section_count = 0;
  }
  std::uint64_t place_of(std::uint32_t section) const { return head.sections + std::uint64_t(section) * sizeof(elf_section); }
  std::string_view name(std::uint32_t table, std::uint32_t offset) const {
    elf_section s{};
    if (!read(place_of(table), s) || s.offset > bytes.size() || s.size > bytes.size() - s.offset || offset >= s.size)
      return {};
    std::string_view const rest = bytes.substr(s.offset + offset, s.size - offset);
    return rest.substr(0, rest.find('\0'));
  }
};
}  // namespace detail

WEFT_DECL sequence<code_symbol> functions_of(std::string_view object, std::string_view symbol, void const* entry,
                                             char const*& text, std::uint32_t& text_section) {
  detail::object_reader const elf(object);
  sequence<code_symbol> found;
  detail::elf_symbol s{};
  // First the entry, which tells where the code is; then all that stands in its section.
  for (int pass = 0; pass < 2; ++pass)
    for (std::uint32_t i = 0; i < elf.head.section_count; ++i) {
      detail::elf_section table{};
      if (!elf.read(elf.place_of(i), table) || table.type != detail::section_symbols) continue;
      for (std::uint64_t at = 0; at + sizeof s <= table.size && elf.read(table.offset + at, s); at += sizeof s) {
        std::string_view const name = elf.name(table.link, s.name);
        if ((s.info & 15) != 2) continue;
        if (pass == 0 && name == symbol) text = static_cast<char const*>(entry) - s.value, text_section = s.section;
        if (pass == 1 && text != nullptr && s.section == text_section)
          found.push_back({name, text + s.value, static_cast<std::size_t>(s.size)});
      }
    }
  return found;
}

WEFT_DECL void write_perf_map(std::string_view object, std::string_view symbol, void const* entry) {
  char const* text = nullptr;
  std::uint32_t section = 0;
  std::string lines;
  for (code_symbol const& f : functions_of(object, symbol, entry, text, section)) {
    char numbers[64];
    std::snprintf(numbers, sizeof numbers, "%llx %zx ",
                  static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(f.begin)), f.bytes);
    (lines += numbers).append(f.name) += '\n';
  }
  std::string const path = "/tmp/perf-" + std::to_string(::getpid()) + ".map";
  int const file = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
  if (file < 0) return;
  struct stat status {};
  // One write for all lines: those of other threads, and of other compilers in this process, stay whole.
  if (::fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == ::geteuid() && status.st_nlink == 1 &&
      (status.st_mode & 022) == 0)
    static_cast<void>(::write(file, lines.data(), lines.size()) < 0);
  ::close(file);
}

}  // namespace runtime
}  // namespace weft::inline WEFT_ABI
