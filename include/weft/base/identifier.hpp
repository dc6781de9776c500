// Names of variables in texts that are to be compiled.
#pragma once

#include <string>
#include <string_view>

#include "weft/config.hpp"

namespace weft::inline WEFT_ABI::detail {

/// `text` as a name that C++ takes: other characters become `_`, and a word that C++ keeps ends in one.
[[gnu::cold]] inline std::string identifier(std::string_view text) {
  static constexpr std::string_view keywords =
      " alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl concept const consteval "
      "constexpr constinit continue decltype default delete do double else enum explicit export extern false float for "
      "friend goto if inline int long mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected "
      "public register requires return short signed sizeof static struct switch template this throw true try typedef typeid "
      "typename union unsigned using virtual void volatile wchar_t while xor xor_eq ";
  std::string out;
  for (char c : text) {
    bool const letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'), digit = c >= '0' && c <= '9';
    if (out.empty() && !letter) out += "x";  // a name that begins with _ may be reserved
    out += letter || digit || (c == '_' && out.back() != '_') ? c : '_';
  }
  if (out.empty() || keywords.find(" " + out + " ") != keywords.npos) out += "_";
  return out;
}

}  // namespace weft::inline WEFT_ABI::detail
