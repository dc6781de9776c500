// What checked code, debuggers and profilers need of the way, and where debug.hpp is known to be there.
#pragma once

#include <string>
#include <string_view>

#include "weft/base/error.hpp"
#include "weft/base/joined.hpp"
#include "weft/compile/request.hpp"
#include "weft/ir/ir.hpp"

namespace weft::inline WEFT_ABI {
namespace codegen::llvm {
struct module_state;
}

/// What a debugger was told of a kernel, taken back when this goes.
class debugger_note {
 public:
  debugger_note() = default;
  /// `note` is given to `take_back` at the end.
  debugger_note(void* note, void (*take_back)(void*)) : note_(note), take_back_(take_back) {}
  /// `o` has nothing left to take back.
  debugger_note(debugger_note&& o) noexcept : note_(o.note_), take_back_(o.take_back_) { o.note_ = nullptr; }
  /// Exchanges the two.
  debugger_note& operator=(debugger_note&& o) noexcept {
    void* const note = note_;
    note_ = o.note_, take_back_ = o.take_back_, o.note_ = note;
    return *this;
  }
  ~debugger_note() {
    if (note_ != nullptr) take_back_(note_);
  }

 private:
  void* note_ = nullptr;
  void (*take_back_)(void*) = nullptr;
};

/// What options need, which most programs do without.
struct instruments {
  ir::function (*lower)(ir::arena& m, compile_request const& r, program const& expanded, nest const& n);
  void (*prepare)(ir::function& f);
  void (*emit)(codegen::llvm::module_state& s, std::string const& symbol, void const* wanted);  // an options
  debugger_note (*loaded)(std::string_view object, std::string_view symbol, void* entry, options wanted);
  decltype(services::report) report;
  void (*raise)(failure const& f);
};
/// Of debug.hpp, and null without it.
[[gnu::weak]] extern instruments const linked_instruments;
/// Null unless debug.hpp is included somewhere in the program.
inline instruments const* find_instruments() {
  instruments const* const there = &linked_instruments;
  return there;
}

namespace detail {
/// The request's options and the environment's.
inline options wanted_options(compile_request const& r) {
  options o = r.wanted;
  o.checked = is_checked(o), o.debug = is_set(o.debug, "WEFT_DEBUG"), o.perf = is_set(o.perf, "WEFT_PERF");
  if (o.any() && find_instruments() == nullptr)
    WEFT_THROW(device_error(joined({r.name,
                                    ": checked, debug and perf (or WEFT_CHECKED, WEFT_DEBUG, WEFT_PERF) need #include "
                                    "<weft/debug.hpp> in one file of the program, or weft::compiled"})));
  return o;
}
}  // namespace detail

}  // namespace weft::inline WEFT_ABI
