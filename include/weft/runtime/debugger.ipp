#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "weft/base/env.hpp"
#include "weft/base/file_limit.hpp"
#include "weft/base/hash.hpp"
#include "weft/base/mutex.hpp"
#include "weft/runtime/debugger.hpp"
#include "weft/runtime/object_reader.hpp"

// One list per process, by names that debuggers know: weak, since LLVM, or another compiler in the program, has them
// too.
extern "C" {
/// Debuggers stop here, and read the descriptor.
[[gnu::weak, gnu::noinline, gnu::used, gnu::visibility("default")]] void __jit_debug_register_code() {
  __asm__ volatile("" ::: "memory");
}
[[gnu::weak, gnu::used, gnu::visibility("default")]] weft_jit_descriptor __jit_debug_descriptor = {1, 0, nullptr,
                                                                                                   nullptr};
}

namespace weft::inline WEFT_ABI {
namespace runtime {
namespace detail {
inline constinit mutex debugger_lock;

inline void notify_debugger(std::uint32_t action, weft_jit_code_entry* entry) {
  __jit_debug_descriptor.relevant = entry;
  __jit_debug_descriptor.action = action;
  __jit_debug_register_code();
}
struct told_object : weft_jit_code_entry {
  std::string image;
};
}  // namespace detail

WEFT_DECL void* tell_debugger(std::string_view object, std::string_view symbol, void const* entry) {
  detail::object_reader const elf(object, symbol, entry);
  if (elf.text() == 0) return nullptr;
  auto* const told = new detail::told_object;
  told->image = object;
  // The debugger relocates its copy, from the addresses that it finds. Where the code is must be true. The rest stands
  // behind it in the order of weft's own loader; ORC may have put it elsewhere, but a debugger reads constants and
  // .eh_frame in the copy, and only asks that the code be in reach.
  auto const page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  std::uint64_t end = 0;
  for (int pass = 0; pass < 3; ++pass) {
    if (pass == 1) end = (end + page - 1) / page * page;
    for (std::uint32_t i = 0; i < elf.sections(); ++i) {
      detail::elf_section s{};
      if (!elf.read(elf.place_of(i), s) || (s.flags & detail::flag_allocated) == 0) continue;
      if (pass != (i == elf.text_section() ? 0 : elf.section_name(s) == ".eh_frame" ? 2 : 1)) continue;
      if (s.alignment > 1) end = (end + s.alignment - 1) / s.alignment * s.alignment;
      s.address = elf.text() + end;
      end += s.size;
      std::memcpy(told->image.data() + elf.place_of(i), &s, sizeof s);
    }
  }
  told->object = told->image.data();
  told->bytes = told->image.size();
  guard const g(detail::debugger_lock);
  told->previous = nullptr;
  told->next = __jit_debug_descriptor.first;
  if (told->next != nullptr) told->next->previous = told;
  __jit_debug_descriptor.first = told;
  detail::notify_debugger(1, told);
  return told;
}
WEFT_DECL void untell_debugger(void* note) {
  auto* const told = static_cast<detail::told_object*>(note);
  guard const g(detail::debugger_lock);
  if (told->next != nullptr) told->next->previous = told->previous;
  (told->previous != nullptr ? told->previous->next : __jit_debug_descriptor.first) = told->next;
  detail::notify_debugger(2, told);
  delete told;
}

WEFT_DECL source_file write_source(std::string const& name, std::string_view text) {
  char const* const asked = environment("TMPDIR");
  std::string const directory = std::string(asked != nullptr ? asked : "/tmp") + "/weft-" + std::to_string(::geteuid());
  ::mkdir(directory.c_str(), 0700);
  int const folder = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder < 0) return {};
  struct stat status {};
  source_file made;
  if (::fstat(folder, &status) == 0 && status.st_uid == ::geteuid() && (status.st_mode & 022) == 0 &&
      file_may_hold(static_cast<std::int64_t>(text.size()))) {
    char digest[24];
    std::snprintf(digest, sizeof digest, ".%016llx", static_cast<unsigned long long>(xxh64(text)));
    made = {directory, name.substr(0, 200) + digest + ".loops"};
    std::string const part = made.file + "." + std::to_string(::getpid());
    int const file = ::openat(folder, part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    bool const whole = file >= 0 && ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    if (file >= 0) ::close(file);
    if (!whole || ::renameat(folder, part.c_str(), folder, made.file.c_str()) != 0) {
      ::unlinkat(folder, part.c_str(), 0);
      made = {};
    }
  }
  ::close(folder);
  return made;
}

}  // namespace runtime
}  // namespace weft::inline WEFT_ABI
