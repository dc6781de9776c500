// What stands in an object that has been linked, and where. For .ipp files only.
#pragma once

#include <cstring>
#include <string_view>

#include "weft/base/sequence.hpp"
#include "weft/runtime/elf.hpp"

namespace weft::inline WEFT_ABI {
namespace runtime {
namespace detail {

/// An object whose `symbol` stands at `entry`, whoever linked it: its code stands together there as it does in the
/// bytes. Nothing outside of the bytes is read; what is no such object has no text and no functions.
class object_reader {
 public:
  struct function {
    std::string_view name;
    std::uintptr_t begin = 0;
    std::size_t bytes = 0;
  };
  object_reader(std::string_view object, std::string_view symbol, void const* entry) : bytes_(object) {
    if (!read(0, head_) ||
        std::memcmp(head_.ident,
                    "\x7f"
                    "ELF\2\1\1",
                    7) != 0 ||
        head_.section_size != sizeof(elf_section))
      head_.section_count = 0;
    each_function([&](std::string_view name, elf_symbol const& s) {
      if (name != symbol) return;
      text_ = reinterpret_cast<std::uintptr_t>(entry) - s.value;
      text_section_ = s.section;
    });
  }
  std::uintptr_t text() const { return text_; }  // 0: none
  std::uint32_t text_section() const { return text_section_; }
  std::uint32_t sections() const { return head_.section_count; }
  sequence<function> functions() const {
    sequence<function> all;
    each_function([&](std::string_view name, elf_symbol const& s) {
      if (text_ != 0 && s.section == text_section_)
        all.push_back({name, text_ + s.value, static_cast<std::size_t>(s.size)});
    });
    return all;
  }
  /// Of section number i.
  std::uint64_t place_of(std::uint32_t i) const { return head_.sections + std::uint64_t(i) * sizeof(elf_section); }
  template <class T>
  bool read(std::uint64_t offset, T& into) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T)) return false;
    std::memcpy(&into, bytes_.data() + offset, sizeof(T));
    return true;
  }
  std::string_view section_name(elf_section const& s) const { return name(head_.name_section, s.name); }

 private:
  std::string_view name(std::uint32_t table, std::uint32_t offset) const {
    elf_section s{};
    if (!read(place_of(table), s) || s.offset > bytes_.size() || s.size > bytes_.size() - s.offset || offset >= s.size)
      return {};
    std::string_view const rest = bytes_.substr(s.offset + offset, s.size - offset);
    return rest.substr(0, rest.find('\0'));
  }
  template <class F>
  void each_function(F const& f) const {
    for (std::uint32_t i = 0; i < sections(); ++i) {
      elf_section table{};
      elf_symbol s{};
      if (!read(place_of(i), table) || table.type != section_symbols) continue;
      for (std::uint64_t at = 0; at + sizeof s <= table.size && read(table.offset + at, s); at += sizeof s)
        if ((s.info & 15) == 2) f(name(table.link, s.name), s);
    }
  }

  std::string_view bytes_;
  elf_header head_{};
  std::uintptr_t text_ = 0;
  std::uint32_t text_section_ = 0;
};

}  // namespace detail
}  // namespace runtime
}  // namespace weft::inline WEFT_ABI
