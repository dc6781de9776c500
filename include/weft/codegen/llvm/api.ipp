#include <dlfcn.h>
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "weft/base/env.hpp"
#include "weft/base/joined.hpp"
#include "weft/base/unload.hpp"
#include "weft/codegen/llvm/api.hpp"

namespace weft::inline WEFT_ABI {
namespace codegen::llvm {

namespace detail {
inline constexpr int oldest_major = 19, newest_major = 22;

#define WEFT_LLVM_NAME(result, name, parameters) "LLVM" #name "\0"
inline constexpr char required_names[] = WEFT_LLVM_FUNCTIONS(WEFT_LLVM_NAME);
inline constexpr char target_names[] = WEFT_LLVM_TARGET_FUNCTIONS(WEFT_LLVM_NAME);
#undef WEFT_LLVM_NAME

inline bool supported(void* library, api& a) {
  auto* version = ::dlsym(library, "LLVMGetVersion");
  if (version == nullptr) return false;
  std::memcpy(&a.GetVersion, &version, sizeof version);
  a.GetVersion(&a.major, &a.minor, &a.patch);
  return a.major >= oldest_major && a.major <= newest_major;
}

// RTLD_LOCAL: LLVM's symbols stay out of the program's way, and those of another LLVM in the process out of
// this one's. RTLD_NOW: measured 8.1 ms against 8.3 ms lazily (LLVM 22, Debian 12, warm files), and what cannot
// be resolved shows here instead of in the middle of a compile.
inline void* open(char const* path, bool only_loaded) {
  return ::dlopen(path, RTLD_NOW | RTLD_LOCAL | (only_loaded ? RTLD_NOLOAD : 0));
}

// Debian and Fedora name the file libLLVM.so.19.1, versions before 18 had libLLVM-NN; Debian keeps a second
// name, and a package without the link in the search path has its own directory.
inline void* open_major(int major, bool only_loaded) {
  static constexpr char const* forms[] = {"libLLVM.so.%d.1", "libLLVM-%d.so.1", "libLLVM-%d.so",
                                          "/usr/lib/llvm-%d/lib/libLLVM.so.1", "/usr/lib64/llvm%d/lib/libLLVM.so.1"};
  for (auto const* form : forms) {
    char path[64];
    if (std::snprintf(path, sizeof path, form, major) <= 0) continue;
    if (void* library = open(path, only_loaded)) return library;
  }
  return nullptr;
}

inline void* open_asked(char const* asked, api& a) {
  char* end = nullptr;
  long const major = std::strtol(asked, &end, 10);
  bool const number = *end == '\0' && major > 0 && major < 1000;
  void* library = number ? open_major(static_cast<int>(major), false) : open(asked, false);
  if (library != nullptr && supported(library, a)) return library;
  std::string why = joined({"WEFT_LLVM asks for ", number ? "LLVM " : "", asked});
  if (library != nullptr || (number && (major < oldest_major || major > newest_major))) {
    why += ", which is not one of LLVM 19 to 22";
  } else {
    char const* const reason = number ? nullptr : ::dlerror();
    why += ", which cannot be loaded";
    if (reason != nullptr) why += joined({": ", reason});
  }
  if (library != nullptr) ::dlclose(library);
  WEFT_THROW(device_error(why + "; set it to one of 19 to 22, to the path of a libLLVM.so, or leave it unset"));
}

inline void* open_any(api& a) {
  for (int only_loaded = 1; only_loaded >= 0; --only_loaded)
    for (int major = newest_major; major >= oldest_major; --major)
      if (void* library = open_major(major, only_loaded != 0)) {
        if (supported(library, a)) return library;
        ::dlclose(library);
      }
  if (void* library = open("libLLVM.so", false)) {
    if (supported(library, a)) return library;
    ::dlclose(library);
  }
  WEFT_THROW(device_error("weft needs LLVM 19 to 22 at run time, and none was found; on Debian: apt-get install libllvm19; "
                          "elsewhere WEFT_LLVM may be the path of a libLLVM.so"));
}

// The members stand in the order of the names, so the struct is filled from front to back.
inline char* fill(char* member, void* library, char const* names, bool required) {
  for (char const* name = names; *name != '\0'; name += std::strlen(name) + 1, member += sizeof(void*)) {
    void* const function = ::dlsym(library, name);
    if (function == nullptr && required)
      WEFT_THROW(device_error(joined({"this libLLVM lacks ", name, "; weft needs a complete LLVM 19 to 22"})));
    std::memcpy(member, &function, sizeof function);
  }
  return member;
}

inline api load() {
  api a{};
  char const* asked = environment("WEFT_LLVM");
  void* const library = asked != nullptr ? open_asked(asked, a) : open_any(a);
  a.library = library;
  char* const targets = fill(reinterpret_cast<char*>(&a), library, required_names, true);
  char* const end = fill(targets, library, target_names, false);
  static_assert(sizeof(a.GetVersion) == sizeof(void*));
  if (end != reinterpret_cast<char*>(&a.major)) WEFT_THROW(internal_error("api: names and members differ in number"));
  using initialiser = void (*)();
  for (char* at = targets; at != end; at += sizeof(void*)) {
    initialiser run;
    std::memcpy(&run, at, sizeof run);
    if (run != nullptr) run();
  }
  return a;
}
}  // namespace detail

namespace detail {
inline constinit std::int32_t llvm_users = 0;
inline constinit thread_local int llvm_uses = 0;  // of this thread
inline constinit bool llvm_is_over = false;

/// Until `ready()`, five seconds at most.
template <class Ready>
inline void nap_until(Ready ready) {
  timespec const millisecond{0, 1000000};
  for (int i = 0; i < 5000 && !ready(); ++i) ::nanosleep(&millisecond, nullptr);
}
inline void end_llvm() {
  if (library_is_unloaded()) return;  // LLVM stays
  __atomic_store_n(&llvm_is_over, true, __ATOMIC_SEQ_CST);
  nap_until([] { return __atomic_load_n(&llvm_users, __ATOMIC_SEQ_CST) == 0; });
}
}  // namespace detail

WEFT_DECL api const& load_llvm() {
  llvm_use const use;
  static api const functions = detail::load();
  return functions;
}

WEFT_DECL bool llvm_use::is_over() { return __atomic_load_n(&detail::llvm_is_over, __ATOMIC_SEQ_CST); }
WEFT_DECL llvm_use::llvm_use() {
  if (detail::llvm_uses++ > 0) return;
  // Before LLVM is loaded, too: the program may begin to end while that happens. When it has ended this fails.
  static bool const registered = std::atexit(detail::end_llvm) == 0;
  __atomic_fetch_add(&detail::llvm_users, 1, __ATOMIC_SEQ_CST);
  if (registered && !is_over()) return;
  __atomic_fetch_sub(&detail::llvm_users, 1, __ATOMIC_SEQ_CST);
  detail::llvm_uses = 0;
  detail::nap_until([] { return false; });
  WEFT_THROW(device_error("the program is ending, and LLVM with it: no kernel is compiled any more"));
}
WEFT_DECL llvm_use::~llvm_use() {
  if (--detail::llvm_uses > 0) return;
  // Handlers run in reverse, and LLVM makes statics in its first uses: again, so that ours is before theirs.
  std::atexit(detail::end_llvm);
  __atomic_fetch_sub(&detail::llvm_users, 1, __ATOMIC_SEQ_CST);
}

WEFT_DECL std::string take_message(api const& l, error_ref e) {
  if (e == nullptr) return {};
  char* const message = l.GetErrorMessage(e);
  std::string result = message;
  l.DisposeErrorMessage(message);
  return result;
}
WEFT_DECL std::string take_message(api const& l, char* message) {
  if (message == nullptr) return {};
  std::string result = message;
  l.DisposeMessage(message);
  return result;
}

namespace detail {
inline void note_diagnostic(diagnostic_ref d, void* user) {
  api const& l = load_llvm();
  if (l.GetDiagInfoSeverity(d) > DSWarning) return;  // remarks and notes
  *static_cast<std::string*>(user) += take_message(l, l.GetDiagInfoDescription(d)) + "\n";
}
}  // namespace detail
WEFT_DECL void collect_diagnostics(api const& l, context_ref c, std::string& errors) {
  l.ContextSetDiagnosticHandler(c, detail::note_diagnostic, &errors);
}

}  // namespace codegen::llvm
}  // namespace weft::inline WEFT_ABI
