// Which steps of a schedule a fault is about. For interp.ipp only.
#pragma once

#include <string>
#include <string_view>

#include "weft/base/sequence.hpp"
#include "weft/expr/text.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

/// The lines of `steps` that name a word of `text`: the steps that made its loops, and what they did with them. Loops of two
/// stages that are called alike are i and i_1 in loop programs, and both i in steps.
inline std::string steps_about(std::string_view steps, std::string_view text) {
  auto const words_of = [](std::string_view line, auto const& see) {
    for (std::size_t at = 0; at < line.size();) {
      std::size_t end = at;
      while (end < line.size() && is_word_character(line[end], end == at)) ++end;
      if (end > at) see(line.substr(at, end - at));
      at = end > at ? end : at + 1;
    }
  };
  sequence<std::string_view> named;
  words_of(text, [&](std::string_view word) {
    named.push_back(word);
    std::size_t const suffix = word.find_last_not_of("0123456789");
    if (suffix + 1 < word.size() && suffix > 0 && word[suffix] == '_') named.push_back(word.substr(0, suffix));
  });
  std::string found;
  while (!steps.empty()) {
    std::size_t const end = steps.find('\n');
    std::string_view const line = steps.substr(0, end);
    steps = end < steps.size() ? steps.substr(end + 1) : std::string_view();
    std::size_t const loops = line.find('(', line.find(": ") + 1);
    bool about = false;
    words_of(loops < line.size() ? line.substr(loops) : std::string_view(), [&](std::string_view word) {
      for (std::string_view n : named) about = about || n == word;
    });
    if (about) (found += found.empty() ? "; by the steps " : ", ") += line;
  }
  return found;
}

}  // namespace detail
}  // namespace weft::inline WEFT_ABI
