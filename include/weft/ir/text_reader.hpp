// The characters, words, names and numbers of the text of a loop program. For parse.ipp only.
#pragma once

#include <charconv>
#include <string>

#include "weft/base/error.hpp"
#include "weft/ir/text.hpp"

namespace weft::inline WEFT_ABI {
namespace ir::detail {

/// Reads from left to right; every failure says where it stands and what was expected there.
class text_reader {
 protected:
  explicit text_reader(std::string_view text) : text_(text) {}

  [[noreturn]] void fail(std::string const& expected) const {
    std::size_t line = 1, begin = 0;
    for (std::size_t i = 0; i < at_; ++i)
      if (text_[i] == '\n') ++line, begin = i + 1;
    std::string found;
    for (char c : text_.substr(at_, 20)) {
      if (c == '\n') break;
      found += static_cast<unsigned char>(c) >= 32 && static_cast<unsigned char>(c) < 127 ? c : '?';
    }
    WEFT_THROW(parse_error("loop IR, line " + std::to_string(line) + ", column " + std::to_string(at_ - begin + 1) +
                           ": expected " + expected + ", found " +
                           (!found.empty()        ? "'" + found + "'"
                            : at_ == text_.size() ? "the end of the text"
                                                  : "the end of the line")));
  }
  [[noreturn]] void fail_at(std::size_t position, std::string const& expected) {
    at_ = position;
    fail(expected);
  }
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  void skip_spaces() {
    while (peek() == ' ') ++at_;
  }
  /// Goes past this line's end and to the next line that says something; `indent_` is -1 at the end of the text.
  void next_line() {
    skip_spaces();
    if (at_ != text_.size() && peek() != '\n' && peek() != '#') fail("the end of the line");
    start_line();
  }
  void start_line() {
    for (std::size_t begin = at_;;) {
      if (peek() == '#')
        while (at_ < text_.size() && peek() != '\n') ++at_;
      if (at_ == text_.size()) {
        indent_ = -1;
        return;
      }
      if (peek() == '\n') begin = ++at_;
      skip_spaces();
      if (at_ == text_.size() || peek() == '\n' || peek() == '#') continue;
      indent_ = static_cast<std::int64_t>(at_ - begin);
      return;
    }
  }

  std::string_view peek_word() {
    skip_spaces();
    std::size_t n = 0;
    if (is_letter(peek()))
      while (is_letter(peek(n)) || is_digit(peek(n))) ++n;
    return text_.substr(at_, n);
  }
  bool try_word(std::string_view word) {
    if (peek_word() != word) return false;
    at_ += word.size();
    return true;
  }
  bool try_sign(std::string_view sign) {
    skip_spaces();
    if (!text_.substr(at_).starts_with(sign)) return false;
    at_ += sign.size();
    return true;
  }
  void expect(std::string_view what) {
    if (!(is_letter(what[0]) ? try_word(what) : try_sign(what))) fail("'" + std::string(what) + "'");
  }

  /// Remembers where it began: what the name means is checked later.
  std::string a_name(char const* expected) {
    std::string_view const word = peek_word();
    name_at_ = at_;
    if (is_plain_name(word)) {
      at_ += word.size();
      return std::string(word);
    }
    if (peek() != '`') fail(expected);
    std::string s;
    for (++at_; peek() != '`';) {
      if (at_ == text_.size() || peek() == '\n') fail("a closing `");
      char c = text_[at_++];
      if (c == '\\') {
        if (at_ == text_.size()) fail("an escape");
        c = text_[at_++];
        if (c == 'x') c = static_cast<char>(from_text<unsigned>(2, 16, "two hexadecimal digits"));
      }
      s += c;
    }
    ++at_;
    return s;
  }
  /// The number in the next `n` characters, all of them.
  template <class T>
  T from_text(std::size_t n, int base, char const* expected) {
    std::string_view const digits = text_.substr(at_, n);
    T value{};
    std::from_chars_result r{};
    if constexpr (std::is_floating_point_v<T>)
      r = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    else
      r = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
    if (n == 0 || digits.size() != n || r.ec != std::errc() || r.ptr != digits.data() + digits.size()) fail(expected);
    at_ += n;
    return value;
  }
  /// How long the number is that begins here: -12, 1.5e+10.
  std::size_t number_size(bool fraction) const {
    std::size_t n = peek() == '-' ? 1 : 0;
    while (is_digit(peek(n))) ++n;
    if (fraction && peek(n) == '.' && is_digit(peek(n + 1)))
      for (++n; is_digit(peek(n));) ++n;
    std::size_t const sign = peek(n + 1) == '-' || peek(n + 1) == '+';
    if (fraction && peek(n) == 'e' && is_digit(peek(n + 1 + sign)))
      for (n += 2 + sign; is_digit(peek(n));) ++n;
    return n;
  }
  std::int64_t integer(std::int64_t low, std::int64_t high, char const* expected) {
    skip_spaces();
    std::size_t const start = at_;
    auto const v = from_text<std::int64_t>(number_size(false), 10, expected);
    if (v < low || v > high) fail_at(start, expected);
    return v;
  }
  std::uint16_t lanes() { return static_cast<std::uint16_t>(integer(2, 65535, "a number of lanes from 2 to 65535")); }

  struct element_type {
    dtype type;
    std::uint16_t lanes;
  };
  /// f32, f32x16
  element_type a_type() {
    std::string_view const word = peek_word();
    for (int t = 0; t < dtype_count; ++t) {
      std::string_view const stem = name(static_cast<dtype>(t));
      if (!is_with_lanes(word, stem)) continue;
      at_ += stem.size();
      return {static_cast<dtype>(t), lanes_behind(word.size() - stem.size())};
    }
    fail("a type");
  }
  std::uint16_t lanes_behind(std::size_t characters) {
    if (characters == 0) return 1;
    ++at_;  // the x
    return lanes();
  }
  dtype scalar_type() {
    element_type const t = a_type();
    if (t.lanes != 1) fail("a type without lanes");
    return t.type;
  }

  static constexpr std::int64_t lowest = -0x7fffffffffffffff - 1, highest = 0x7fffffffffffffff;
  std::string_view text_;
  std::size_t at_ = 0, name_at_ = 0;
  std::int64_t indent_ = -1;  // of the line that is read
};

}  // namespace ir::detail
}  // namespace weft::inline WEFT_ABI
