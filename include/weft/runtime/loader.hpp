// From the bytes of an object file to callable code, without LLVM.
#pragma once

#include <string>
#include <string_view>

#include "weft/codegen/llvm/jit.hpp"
#include "weft/config.hpp"

namespace weft::inline WEFT_ABI {
namespace runtime {

/// Code in memory that weft itself mapped; it goes when this goes. The caller sees to it that nobody runs it then.
class mapped_object {
 public:
  mapped_object() = default;
  mapped_object(mapped_object&& other) noexcept { swap(other); }
  mapped_object& operator=(mapped_object&& other) noexcept {
    swap(other);
    return *this;
  }
  ~mapped_object();
  void* entry() const { return m_.entry; }

 private:
  friend class object_mapper;
  struct mapping {
    char* memory = nullptr;  // code first
    std::size_t bytes = 0, text_bytes = 0;
    char* frames = nullptr;  // .eh_frame, when the unwinder knows it
    std::size_t frame_bytes = 0;
    void* entry = nullptr;
  };
  void swap(mapped_object& other) noexcept {
    mapping const held = m_;
    m_ = other.m_;
    other.m_ = held;
  }
  mapping m_;
};

/// Maps the object that our code generator emitted: an ELF file for x86-64 that stands alone.
///
/// Pages are written first and become executable or read-only then, never writable and executable at once. The
/// unwinder is told of .eh_frame, so that exceptions, debuggers' backtraces and profilers pass through kernels.
/// Refused are undefined symbols, writable data, thread-local data, relocations other than 64, PC32, PLT32, 32 and
/// 32S, frames in a form that LLVM does not emit, and whatever points outside of the bytes. The bytes may be
/// anything: nothing outside of them is read. What the code does is not looked at.
///
/// Errors  an object without entry, and the reason in `why`
/// Threads any
/// Cost    25 us for a matmul (three pages, two calls of mprotect)
/// Source  System V ABI, AMD64 supplement, sections 4 and 6; Linux Standard Base 5.0, section 10.6 (.eh_frame)
mapped_object map_object(std::string_view object, std::string_view symbol, std::string& why);

/// Whoever may link: weft's own loader, or LLVM's ORC.
enum class linker : unsigned char { own, orc };

/// `own` on x86-64; `orc` elsewhere, and when WEFT_LOADER=orc asks for it.
linker default_linker();

/// Code in memory, whoever linked it.
class linked_object {
 public:
  linked_object() = default;
  explicit linked_object(mapped_object&& m) : mapped_(static_cast<mapped_object&&>(m)) {}
  explicit linked_object(codegen::llvm::loaded_code&& c) : loaded_(static_cast<codegen::llvm::loaded_code&&>(c)) {}
  void* entry() const { return mapped_.entry() != nullptr ? mapped_.entry() : loaded_.entry(); }

 private:
  mapped_object mapped_;
  codegen::llvm::loaded_code loaded_;
};

/// Loads an object by `by`; what weft's own loader refuses is ORC's, which loads LLVM.
///
/// Errors  device_error with the reasons of both
/// Threads any
linked_object link(std::string_view object, std::string_view symbol, linker by = default_linker());

}  // namespace runtime
}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/runtime/loader.ipp"
#endif
