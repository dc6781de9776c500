// From the bytes of an object file to callable code, by LLVM's ORC.
//
// The other way, and the usual one on x86-64, is runtime/loader.hpp, which needs no LLVM; both are tested on the same bytes.
#pragma once

#include <string>
#include <string_view>

#include "weft/base/mutex.hpp"
#include "weft/base/sequence.hpp"
#include "weft/codegen/llvm/api.hpp"

namespace weft::inline WEFT_ABI {
namespace codegen::llvm {

/// Code in memory; it goes when this goes. The caller sees to it that nobody runs it then.
class loaded_code {
 public:
  loaded_code() = default;
  loaded_code(loaded_code&& other) noexcept { swap(other); }
  loaded_code& operator=(loaded_code&& other) noexcept {
    swap(other);
    return *this;
  }
  ~loaded_code();
  void* entry() const { return entry_; }

 private:
  friend class jit;
  void swap(loaded_code& other) noexcept;
  void* entry_ = nullptr;
  tracker_ref tracker_ = nullptr;
  dylib_ref dylib_ = nullptr;
};

/// The process's linker of objects.
class jit {
 public:
  /// Made at the first call, never destroyed.
  static jit& instance();

  /// Loads an object and finds `symbol` in it.
  ///
  /// The object stands alone: nothing of the process can be reached from it, so an undefined symbol is an error
  /// even where the process has one of that name; equal names in different objects do not meet.
  /// Errors   device_error with LLVM's reason; nothing stays loaded then
  /// Threads  any, one at a time
  /// Cost     1 ms in `instance` and the first link of a process, 0.03 ms later (1 KB object, LLVM 19 and 22)
  loaded_code link(std::string_view object_bytes, std::string_view symbol);

  jit(jit const&) = delete;
  jit& operator=(jit const&) = delete;

 private:
  jit();
  friend class loaded_code;
  void* add_and_find(loaded_code const& code, std::string_view object_bytes, char const* symbol, std::string& why);
  void remove(tracker_ref tracker, dylib_ref dylib);

  api const& llvm_;
  mutex lock_;
  lljit_ref orc_ = nullptr;
  session_ref session_ = nullptr;
  std::string reported_;          // what ORC would have printed during this link
  sequence<dylib_ref> empty_;     // ORC's C interface cannot remove a dylib: they are used again
};

}  // namespace codegen::llvm
}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/codegen/llvm/jit.ipp"
#endif
