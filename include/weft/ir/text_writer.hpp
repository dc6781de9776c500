// Names, types and literals as the text of a loop program has them. For print.ipp only.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

#include "weft/base/joined.hpp"
#include "weft/ir/text.hpp"

namespace weft::inline WEFT_ABI {
namespace ir::detail {

inline std::string type_text(dtype t, int lanes) {
  return joined({name(t), lanes == 1 ? "" : "x" + std::to_string(lanes)});
}
/// A name as itself, or in backquotes with \` \\ and \xHH.
inline std::string name_text(std::string const& name) {
  if (is_plain_name(name)) return name;
  std::string s = "`";
  for (char c : name) {
    char hex[8];
    char const* const escaped = hex;
    if (c == '`' || c == '\\') s += '\\';
    if (static_cast<unsigned char>(c) >= 32)
      s += c;
    else
      std::snprintf(hex, sizeof hex, "\\x%02x", static_cast<unsigned>(c)), s += escaped;
  }
  return s + "`";
}
/// A finite or infinite float; told apart by its bits, since a TU may be compiled with -ffast-math.
inline std::string float_text(dtype t, std::int64_t bits, std::string const& type) {
  std::int64_t const infinity = infinity_bits(t), size = bits & ~sign_bit(t);
  if (size == infinity) return joined({size == bits ? "inf<" : "-inf<", type, ">"});
  if (size > infinity) return "";
  // The fewest digits that read back as the same. Not std::to_chars: <charconv> costs each TU 60 ms.
  double const x = from_bits<double>(converted(t, dtype::f64, bits));
  char text[64];
  for (int digits = is_half(t) ? 3 : 6;; ++digits) {
    std::snprintf(text, sizeof text, "%.*g", digits, x);
    std::int64_t const back =
        t == dtype::f64 ? to_bits(std::strtod(text, nullptr)) : weft::detail::from_f32(t, std::strtof(text, nullptr));
    if (digits == 17 || back == bits) break;
  }
  std::string s;
  for (char const* c = text; *c != '\0'; ++c) {  // the locale may write the point as something else, of any length
    if (is_digit(*c) || *c == '-' || *c == '+' || *c == 'e')
      s += *c;
    else if (s.find('.') == std::string::npos)
      s += '.';
  }
  if (s.find_first_of(".e") == std::string::npos) s += ".0";
  return s + type;
}
inline std::string literal_text(dtype t, std::int64_t bits, int lanes) {
  std::string const type = type_text(t, lanes);
  char hex[24];
  std::snprintf(hex, sizeof hex, "0x%llx", static_cast<unsigned long long>(bits));
  std::int64_t const infinity = infinity_bits(t);
  std::string s;
  if (!is_element(t, bits)) return joined({"bits<", type, ">(", hex, ")"});
  if (t == dtype::boolean) return (bits ? "true" : "false") + type.substr(4);
  if (t == dtype::u64) return std::to_string(static_cast<std::uint64_t>(bits)) + type;
  if (!is_float(t)) return std::to_string(bits) + (t == dtype::i64 && lanes == 1 ? "" : type);
  if (bits == (infinity | infinity >> 1)) return joined({"nan<", type, ">"});  // the quiet one without payload
  s = float_text(t, bits, type);
  return s.empty() ? joined({"bits<", type, ">(", hex, ")"}) : s;
}

}  // namespace ir::detail
}  // namespace weft::inline WEFT_ABI
