// Names: as template arguments (fixed_string) and as members of literal values (short_name).
#pragma once

#include <cstddef>
#include <string_view>

#include "weft/config.hpp"

namespace weft::inline WEFT_ABI {

/// A string that can be a template argument: `kernel<"matmul">`.
template <std::size_t N>
struct fixed_string {
  char data[N]{};
  constexpr fixed_string(char const (&text)[N]) {
    for (std::size_t i = 0; i < N; ++i) data[i] = text[i];
  }
  constexpr std::string_view view() const { return {data, N - 1}; }
};

/// A name of at most 30 characters inside a flat literal value; longer ones are cut.
struct short_name {
  static constexpr std::size_t capacity = 30;
  char data[capacity + 1]{};
  unsigned char size = 0;

  constexpr short_name() = default;
  constexpr short_name(std::string_view text) {
    for (char c : text)
      if (size < capacity) data[size++] = c;
  }
  constexpr short_name& append(std::string_view text) {
    for (char c : text)
      if (size < capacity) data[size++] = c;
    return *this;
  }
  constexpr short_name& append(int number) {
    char digits[12]{};
    int n = 0;
    do digits[n++] = static_cast<char>('0' + number % 10);
    while ((number /= 10) != 0);
    while (n > 0 && size < capacity) data[size++] = digits[--n];
    return *this;
  }
  constexpr std::string_view view() const { return {data, std::size_t{size}}; }
  constexpr bool operator==(short_name const& other) const { return view() == other.view(); }
};

}  // namespace weft::inline WEFT_ABI
