// Reading and writing the small texts of programs and traces, line by line. Included by .ipp files only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "weft/base/error.hpp"
#include "weft/base/joined.hpp"
#include "weft/expr/program.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

inline bool is_word_character(char c, bool first) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (!first && c >= '0' && c <= '9');
}
/// A name as it stands in a text: as it is when it is a word, else quoted with \xHH for what is not printable.
inline std::string quoted(std::string_view name) {
  bool word = !name.empty();
  for (std::size_t i = 0; i < name.size(); ++i) word = word && is_word_character(name[i], i == 0);
  if (word) return std::string(name);
  constexpr char digits[] = "0123456789abcdef";
  std::string out = "\"";
  for (char c : name) {
    auto const code = static_cast<unsigned char>(c);
    if (code >= 32 && code < 127 && c != '"' && c != '\\')
      out += c;
    else
      ((out += "\\x") += digits[code >> 4]) += digits[code & 15];
  }
  return out += '"';
}

/// A cursor over a text whose lines end in a newline and may have a comment behind `#`.
///
/// Errors  parse_error "what:line:column: message"
class text_reader {
 public:
  text_reader(std::string_view text, char const* what) : text_(text), what_(what) {}

  /// Skips empty lines; true when nothing follows.
  bool at_end() {
    while (line_ends() && at_ < text_.size()) next_line();
    return at_ >= text_.size();
  }
  /// Skips spaces; true when nothing else stands on this line.
  bool line_ends() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\r')) ++at_;
    return at_ >= text_.size() || text_[at_] == '\n' || text_[at_] == '#';
  }
  void end_line() {
    if (!line_ends()) fail("the line should end here");
    next_line();
  }
  bool accept(std::string_view token) {
    line_ends();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  void expect(std::string_view token) {
    if (!accept(token)) fail(joined({"expected '", token, "'"}));
  }
  std::string_view word(char const* wanted) {
    line_ends();
    std::size_t const from = at_;
    while (at_ < text_.size() && is_word_character(text_[at_], at_ == from)) ++at_;
    if (at_ == from) fail(joined({"expected ", wanted}));
    return text_.substr(from, at_ - from);
  }
  /// A word or a quoted name of at most 30 characters.
  short_name name() {
    line_ends();
    std::size_t const from = at_;
    std::string s;
    if (!accept("\"")) {
      s = word("a name");
    } else {
      while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\n') s += character();
      expect("\"");
    }
    if (s.size() > short_name::capacity) at_ = from, fail("the name has more than 30 characters");
    return short_name(s);
  }
  std::int64_t number() {
    line_ends();
    std::size_t const from = at_;
    bool const negative = accept("-");
    std::uint64_t const value = digits(from, negative ? std::uint64_t(1) << 63 : ~std::uint64_t(0) >> 1);
    return static_cast<std::int64_t>(negative ? 0 - value : value);
  }
  std::uint64_t natural() {
    line_ends();
    return digits(at_, ~std::uint64_t(0));
  }
  /// A number that must lie in 0..limit.
  std::int32_t number_below(std::size_t limit, char const* what) {
    line_ends();
    std::size_t const from = at_;
    std::int64_t const n = number();
    if (n < 0 || static_cast<std::uint64_t>(n) >= limit) at_ = from, fail(joined({"there is no such ", what}));
    return static_cast<std::int32_t>(n);
  }
  /// Up to 16 hexadecimal digits.
  std::uint64_t hexadecimal() {
    std::uint64_t value = 0;
    int count = 0;
    for (int d; at_ < text_.size() && (d = digit(text_[at_])) >= 0; ++at_, ++count)
      value = value << 4 | static_cast<std::uint64_t>(d);
    if (count < 1 || count > 16) fail("expected 1 to 16 hexadecimal digits");
    return value;
  }
  [[noreturn]] void fail(std::string const& message) const {
    std::size_t const line_start = text_.substr(0, at_).rfind('\n') + 1;  // npos + 1 is 0
    WEFT_THROW(parse_error(joined({what_, ":", std::to_string(line_), ":",
                                   std::to_string(at_ - line_start + 1), ": ", message})));
  }

 private:
  /// A number of at most `limit` that began at `from`.
  std::uint64_t digits(std::size_t from, std::uint64_t limit) {
    std::uint64_t value = 0;
    std::size_t const first = at_;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
      auto const digit = static_cast<std::uint64_t>(text_[at_] - '0');
      if (value > (limit - digit) / 10) at_ = from, fail("the number does not fit 64 bits");
      value = value * 10 + digit;
    }
    if (at_ == first) at_ = from, fail("expected a number");
    return value;
  }
  static int digit(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  }
  char character() {
    if (text_[at_] != '\\') return text_[at_++];
    if (at_ + 4 > text_.size() || text_[at_ + 1] != 'x' || digit(text_[at_ + 2]) < 0 || digit(text_[at_ + 3]) < 0)
      fail("expected \\x and two hexadecimal digits");
    at_ += 4;
    return static_cast<char>(digit(text_[at_ - 2]) * 16 + digit(text_[at_ - 1]));
  }
  void next_line() {
    while (at_ < text_.size() && text_[at_] != '\n') ++at_;
    if (at_ < text_.size()) ++at_, ++line_;
  }

  std::string_view text_;
  char const* what_;
  std::size_t at_ = 0;
  int line_ = 1;
};

}  // namespace detail
}  // namespace weft::inline WEFT_ABI
