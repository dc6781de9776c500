#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>

#include "weft/base/env.hpp"
#include "weft/base/error.hpp"
#include "weft/base/sequence.hpp"
#include "weft/runtime/elf.hpp"
#include "weft/runtime/loader.hpp"

// Of the unwinder that the program is linked with; null where it has none. LLVM's takes one frame description at a
// time and is told by its other name for that, libgcc's takes the whole section.
extern "C" {
[[gnu::weak]] void __register_frame(void*);
[[gnu::weak]] void __deregister_frame(void*);
[[gnu::weak]] void __unw_add_dynamic_fde(std::uintptr_t);
}

namespace weft::inline WEFT_ABI {
namespace runtime {
namespace detail {

inline constexpr std::uint64_t largest_object = std::uint64_t(64) << 20;

/// Calls `frame(record)` for each frame description of an .eh_frame section that ends in zeros; false as soon as
/// a record has another form than those of LLVM's kernels, or describes other code than `text`.
template <class Frame>
inline bool each_frame(char* section, std::uint64_t size, char const* text, std::uint64_t text_bytes, Frame frame) {
  auto const number = [&](std::uint64_t at) {
    std::uint32_t value;
    std::memcpy(&value, section + at, sizeof value);
    return value;
  };
  // A common record, behind its length: 0, version 1, "zR", alignments 1 and -8, register 16, one byte of
  // augmentation: addresses are 4 bytes, relative to where they stand.
  static constexpr char common[] = "\0\0\0\0\1zR\0\1\x78\x10\1\x1b";
  std::uint64_t last_common = size;
  for (std::uint64_t at = 0; at < size;) {
    if (size - at < 4) return false;
    std::uint64_t const length = number(at);
    if (length == 0) return at + 4 == size;
    if (length > size - at - 4 || length < sizeof common - 1 || length % 4 != 0) return false;
    if (number(at + 4) == 0) {
      if (std::memcmp(section + at + 4, common, sizeof common - 1) != 0) return false;
      last_common = at;
    } else {
      if (last_common >= size || number(at + 4) != at + 4 - last_common) return false;
      auto const distance = static_cast<std::uint64_t>(static_cast<std::int32_t>(number(at + 8)));
      std::uint64_t const begin = reinterpret_cast<std::uintptr_t>(section) + at + 8 + distance -
                                  reinterpret_cast<std::uintptr_t>(text);
      if (begin > text_bytes || number(at + 12) > text_bytes - begin || section[at + 16] != 0) return false;
      frame(section + at);
    }
    at += 4 + length;
  }
  return true;
}

inline void tell_unwinder(void (*call)(void*), char* frames, std::uint64_t size, char const* text,
                          std::uint64_t text_bytes) {
  if (call == nullptr) return;
  if (__unw_add_dynamic_fde == nullptr) return call(frames);
  each_frame(frames, size, text, text_bytes, [&](char* frame) { call(frame); });
}
}  // namespace detail

/// One object on its way into memory.
class object_mapper {
 public:
  object_mapper(std::string_view object, std::string_view symbol) : object_(object), symbol_(symbol) {}
  WEFT_DECL mapped_object run(std::string& why) {
    why = "";
    if (read_sections() && place() && read_symbols() && copy() && relocate() &&
        (frames() || refuse("its .eh_frame has a form that no kernel's has")) && protect())
      return static_cast<mapped_object&&>(made_);
    why = why_;
    return {};
  }

 private:
  using elf_header = detail::elf_header;
  using elf_section = detail::elf_section;
  using elf_symbol = detail::elf_symbol;
  using elf_relocation = detail::elf_relocation;
  static constexpr std::uint64_t nowhere = ~std::uint64_t(0);
  struct part {
    elf_section s{};
    std::uint64_t at = nowhere;  // in memory, from its start
  };

  WEFT_DECL bool refuse(char const* why) {
    why_ = why;
    return false;
  }
  bool holds(std::uint64_t offset, std::uint64_t size) const {
    return offset <= object_.size() && size <= object_.size() - offset;
  }
  /// Element `index` of an array of T at `offset`; the array lies in the bytes.
  template <class T>
  T element(std::uint64_t offset, std::uint64_t index) const {
    T value;
    std::memcpy(&value, object_.data() + offset + index * sizeof(T), sizeof value);
    return value;
  }
  /// The name at `offset` of string table `table`; empty when it does not end there.
  WEFT_DECL std::string_view name(std::uint32_t table, std::uint32_t offset) const {
    if (table >= parts_.size()) return {};
    elf_section const& s = parts_[table].s;
    if (s.type == detail::section_nobits || offset >= s.size) return {};
    char const* const first = object_.data() + s.offset + offset;
    void const* const end = std::memchr(first, 0, static_cast<std::size_t>(s.size - offset));
    return end == nullptr ? std::string_view()
                          : std::string_view(first, static_cast<std::size_t>(static_cast<char const*>(end) - first));
  }

  WEFT_DECL bool read_sections() {
    if (!holds(0, sizeof(elf_header))) return refuse("it is shorter than a header");
    if (object_.size() > detail::largest_object) return refuse("it is larger than 64 MiB");
    auto const h = element<elf_header>(0, 0);
    if (std::memcmp(h.ident, "\x7f" "ELF\2\1\1", 7) != 0 || h.type != 1 || h.machine != 62)
      return refuse("it is no relocatable ELF file for x86-64");
    if (h.section_size != sizeof(elf_section) || h.section_count == 0 ||
        !holds(h.sections, h.section_count * sizeof(elf_section)))
      return refuse("its section table is not in it");
    parts_.resize(h.section_count);
    for (std::uint32_t i = 0; i < h.section_count; ++i) {
      elf_section& s = parts_[i].s;
      s = element<elf_section>(h.sections, i);
      if (i == 0) s = {};
      if (s.type != detail::section_nobits && !holds(s.offset, s.size)) return refuse("a section is not in it");
    }
    names_ = h.name_section;
    return true;
  }
  /// Code first, then from a new page on what is only read, .eh_frame last.
  WEFT_DECL bool place() {
    page_ = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    std::uint64_t end = 0;
    for (int pass = 0; pass < 3; ++pass) {
      if (pass == 1) text_end_ = end, end = (end + page_ - 1) / page_ * page_, text_bytes_ = end;
      for (std::uint32_t i = 0; i < parts_.size(); ++i) {
        elf_section const& s = parts_[i].s;
        if ((s.flags & detail::flag_allocated) == 0 || s.size == 0) continue;
        std::string_view const called = name(names_, s.name);
        bool const is_code = (s.flags & detail::flag_executable) != 0, is_frames = called == ".eh_frame";
        if (pass != (is_code ? 0 : is_frames ? 2 : 1)) continue;
        bool const relocated_only = called.substr(0, 12) == ".data.rel.ro";
        if ((s.flags & detail::flag_write) != 0 && !relocated_only) return refuse("it has writable data");
        if ((s.flags & (detail::flag_tls | detail::flag_compressed)) != 0 || s.type == detail::section_nobits)
          return refuse("it has a section of a kind that no kernel has");
        std::uint64_t const alignment = s.alignment == 0 ? 1 : s.alignment;
        if ((alignment & (alignment - 1)) != 0 || alignment > page_) return refuse("a section's alignment is no such");
        if (is_frames && frames_ != 0) return refuse("it has several .eh_frame");
        if (is_frames) frames_ = i;
        end = (end + alignment - 1) / alignment * alignment;
        parts_[i].at = end;
        end += s.size;
        if (end > 2 * detail::largest_object) return refuse("its sections are larger than 64 MiB");
      }
    }
    if (text_end_ == 0) return refuse("it has no code");
    bytes_ = (end + 8 + page_ - 1) / page_ * page_;  // zeros end .eh_frame
    return true;
  }
  WEFT_DECL bool read_symbols() {
    for (std::uint32_t i = 0; i < parts_.size(); ++i) {
      if (parts_[i].s.type != detail::section_symbols) continue;
      if (symbols_ != 0) return refuse("it has several symbol tables");
      symbols_ = i;
    }
    if (symbols_ == 0) return refuse("it has no symbols");
    elf_section const& table = parts_[symbols_].s;
    symbol_count_ = table.size / sizeof(elf_symbol);
    for (std::uint64_t i = 1; i < symbol_count_; ++i) {
      auto const s = element<elf_symbol>(table.offset, i);
      bool const is_function = (s.info & 15) == 2, is_global = s.info >> 4 == 1;
      if (!is_function || !is_global || name(table.link, s.name) != symbol_) continue;
      entry_ = address(s);
      if (entry_ != nowhere && entry_ < text_end_) return true;
    }
    return refuse("it has no such function");
  }
  /// Where a symbol will stand in memory; nowhere when it is not of this object.
  WEFT_DECL std::uint64_t address(elf_symbol const& s) const {
    if (s.section == 0 || s.section >= parts_.size()) return nowhere;
    part const& p = parts_[s.section];
    return p.at == nowhere || s.value > p.s.size ? nowhere : p.at + s.value;
  }
  WEFT_DECL bool copy() {
    void* const memory = ::mmap(nullptr, static_cast<std::size_t>(bytes_), PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return refuse("there is no memory for it");
    made_.m_ = {static_cast<char*>(memory), static_cast<std::size_t>(bytes_), static_cast<std::size_t>(text_end_)};
    for (part const& p : parts_)
      if (p.at != nowhere)
        std::memcpy(made_.m_.memory + p.at, object_.data() + p.s.offset, static_cast<std::size_t>(p.s.size));
    return true;
  }
  WEFT_DECL bool relocate() {
    for (part const& list : parts_) {
      std::uint32_t const target = list.s.info;
      bool const relocates = list.s.type == detail::section_rela || list.s.type == detail::section_rel;
      if (!relocates || target >= parts_.size() || parts_[target].at == nowhere) continue;
      if (list.s.type != detail::section_rela || list.s.entry_size != sizeof(elf_relocation) ||
          list.s.link != symbols_)
        return refuse("its relocations have a form that no kernel's have");
      for (std::uint64_t i = 0; i < list.s.size / sizeof(elf_relocation); ++i)
        if (!apply(element<elf_relocation>(list.s.offset, i), parts_[target])) return false;
    }
    return true;
  }
  WEFT_DECL bool apply(elf_relocation const& r, part const& target) {
    enum : std::uint32_t { to_64 = 1, pc_32 = 2, plt_32 = 4, to_32 = 10, to_32s = 11 };
    std::uint64_t const width = r.type == to_64 ? 8 : 4;
    if (target.s.size < width || r.offset > target.s.size - width)
      return refuse("a relocation is outside of its section");
    if (r.symbol == 0 || r.symbol >= symbol_count_) return refuse("a relocation names no symbol");
    std::uint64_t const symbol = address(element<elf_symbol>(parts_[symbols_].s.offset, r.symbol));
    if (symbol == nowhere) return refuse("it names a symbol that is not in it");
    char* const place = made_.m_.memory + target.at + r.offset;
    std::uint64_t value =
        reinterpret_cast<std::uintptr_t>(made_.m_.memory) + symbol + static_cast<std::uint64_t>(r.addend);
    if (r.type == pc_32 || r.type == plt_32) value -= reinterpret_cast<std::uintptr_t>(place);
    switch (r.type) {
      case to_64: break;
      case pc_32:
      case plt_32:
      case to_32s:
        if (value + 0x80000000u > 0xffffffffu) return refuse("a relocation does not reach its symbol");
        break;
      case to_32:
        if (value > 0xffffffffu) return refuse("a relocation does not reach its symbol");
        break;
      default: return refuse("it has a relocation of a kind that no kernel has");
    }
    std::memcpy(place, &value, static_cast<std::size_t>(width));
    return true;
  }
  WEFT_DECL bool frames() const {
    if (frames_ == 0) return true;
    part const& p = parts_[frames_];
    return detail::each_frame(made_.m_.memory + p.at, p.s.size, made_.m_.memory, text_end_, [](char*) {});
  }
  WEFT_DECL bool protect() {
    mapped_object::mapping& m = made_.m_;
    auto const text = static_cast<std::size_t>(text_bytes_);
    if (::mprotect(m.memory, text, PROT_READ | PROT_EXEC) != 0 ||
        ::mprotect(m.memory + text, m.bytes - text, PROT_READ) != 0)
      return refuse("the system does not let its memory become executable");
    m.entry = m.memory + entry_;
    if (frames_ == 0) return true;
    m.frames = m.memory + parts_[frames_].at;
    m.frame_bytes = static_cast<std::size_t>(parts_[frames_].s.size);
    detail::tell_unwinder(__register_frame, m.frames, m.frame_bytes, m.memory, m.text_bytes);
    return true;
  }

  std::string_view object_, symbol_;
  char const* why_ = "";
  sequence<part> parts_;
  std::uint64_t page_ = 0, bytes_ = 0, text_bytes_ = 0, text_end_ = 0, symbol_count_ = 0, entry_ = nowhere;
  std::uint32_t names_ = 0, symbols_ = 0, frames_ = 0;
  mapped_object made_;
};

WEFT_DECL mapped_object::~mapped_object() {
  if (m_.memory == nullptr) return;
  if (m_.frames != nullptr)
    detail::tell_unwinder(__deregister_frame, m_.frames, m_.frame_bytes, m_.memory, m_.text_bytes);
  ::munmap(m_.memory, m_.bytes);
}

WEFT_DECL mapped_object map_object(std::string_view object, std::string_view symbol, std::string& why) {
  return object_mapper(object, symbol).run(why);
}

WEFT_DECL linker default_linker() {
#if defined(__x86_64__)
  std::string_view const asked = environment("WEFT_LOADER") != nullptr ? environment("WEFT_LOADER") : "own";
  if (asked != "orc" && asked != "own")
    std::fprintf(stderr, "weft: WEFT_LOADER: '%.*s' is unknown; known are orc, own\n", static_cast<int>(asked.size()), asked.data());
  return asked == "orc" ? linker::orc : linker::own;
#else
  return linker::orc;
#endif
}

WEFT_DECL linked_object link(std::string_view object, std::string_view symbol, linker by) {
  if (by == linker::own) {
    std::string why;
    mapped_object mapped = map_object(object, symbol, why);
    if (mapped.entry() != nullptr) return linked_object(static_cast<mapped_object&&>(mapped));
  }
  return linked_object(codegen::llvm::jit::instance().link(object, symbol));
}

}  // namespace runtime
}  // namespace weft::inline WEFT_ABI
