#include "weft/base/hash.hpp"
#include "weft/runtime/cache/entry.hpp"

namespace weft::inline WEFT_ABI {
namespace cache {
namespace detail {
// The second line is what text conversion would break; the number is the format's.
inline constexpr std::string_view magic("weft kernel\r\n\x1a\0\1", std::size_t{16});
}  // namespace detail

WEFT_DECL void byte_writer::raw(void const* from, std::size_t n) { bytes.append(static_cast<char const*>(from), n); }

WEFT_DECL byte_reader unsealed(std::string_view bytes, std::string_view magic) {
  byte_reader r({});
  r.good = false;
  if (bytes.size() < magic.size() + sizeof(std::uint64_t)) return r;
  byte_reader checksum(bytes.substr(bytes.size() - sizeof(std::uint64_t)));
  bytes.remove_suffix(sizeof(std::uint64_t));
  if (checksum.number<std::uint64_t>() != xxh64(bytes) || bytes.substr(0, magic.size()) != magic) return r;
  bytes.remove_prefix(magic.size());
  return byte_reader(bytes);
}

WEFT_DECL std::string encode(entry const& e) {
  byte_writer w;
  w.bytes.reserve(e.key.size() + e.object.size() + 256);
  w.bytes.append(detail::magic.data(), detail::magic.size());
  w.numbers(e.workspace_bytes);
  for (std::string_view t : {e.llvm, e.symbol, e.key, e.object}) w.text(t);
  w.numbers(xxh64(w.bytes));
  return static_cast<std::string&&>(w.bytes);
}

WEFT_DECL bool decode(std::string_view bytes, entry& into) {
  byte_reader r = unsealed(bytes, detail::magic);
  if (!r.good) return false;
  into.workspace_bytes = r.number<std::int64_t>();
  for (std::string_view* t : {&into.llvm, &into.symbol, &into.key, &into.object}) *t = r.text();
  return r.good && r.rest.empty() && into.workspace_bytes >= -1;
}

}  // namespace cache
}  // namespace weft::inline WEFT_ABI
