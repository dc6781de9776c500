// What a file of the cache holds: one compiled kernel, and all that it was made from.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "weft/config.hpp"

namespace weft::inline WEFT_ABI {
namespace cache {

/// A kernel on disk. The texts stand in the bytes that it was read from.
struct entry {
  std::string_view key;     // all that its code follows from (key.hpp)
  std::string_view llvm;    // which LLVM compiled it: "22.1.8"
  std::string_view symbol;  // of its kernel_entry
  std::string_view object;  // an ELF file
  std::int64_t workspace_bytes = 0;
};

/// The bytes of a file: a magic word and a format number, the lengths, the texts, and a checksum of all of it.
std::string encode(entry const& e);

/// Reads what `encode` wrote; false for any other bytes.
bool decode(std::string_view bytes, entry& into);

/// Numbers and texts one behind the other; a text is preceded by its length.
class byte_writer {
 public:
  std::string bytes;
  template <class... Number>
  void numbers(Number... n) {
    char packed[(sizeof n + ...)];
    char* at = packed;
    ((std::memcpy(at, &n, sizeof n), at += sizeof n), ...);
    raw(packed, sizeof packed);
  }
  void text(std::string_view t) {
    numbers(static_cast<std::uint32_t>(t.size()));
    raw(t.data(), t.size());
  }

 protected:
  void raw(void const* from, std::size_t n);
};

/// The way back; after the end everything is 0 or empty, and `good` is false.
class byte_reader {
 public:
  explicit byte_reader(std::string_view bytes) : rest(bytes) {}
  std::string_view rest;
  bool good = true;
  std::string_view take(std::size_t n) {
    good = good && n <= rest.size();
    std::string_view const taken = good ? rest.substr(0, n) : std::string_view();
    rest.remove_prefix(taken.size());
    return taken;
  }
  template <class Number>
  Number number() {
    Number n{};
    std::string_view const taken = take(sizeof n);
    if (good) std::memcpy(&n, taken.data(), sizeof n);
    return n;
  }
  std::string_view text() { return take(number<std::uint32_t>()); }
};

/// What stands between `magic` and the checksum that ends the bytes of a file; not `good` for any other bytes. Nothing is looked at before the
/// checksum is found right.
byte_reader unsealed(std::string_view bytes, std::string_view magic);

}  // namespace cache
}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/runtime/cache/entry.ipp"
#endif
