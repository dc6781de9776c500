#include <cstdio>
#include <cstdlib>

#include "weft/base/env.hpp"
#include "weft/base/hash.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {
inline constexpr char const* switch_words[] = {"0", "1", "false", "true", "no", "yes", "off", "on"};
inline std::uint64_t switches_told = 0;  // a bit for each name's digest; two that share one tell of the first alone
}  // namespace detail

WEFT_DECL char const* environment(char const* name) {
  char const* value = ::secure_getenv(name);
  return value != nullptr && *value != '\0' ? value : nullptr;
}
WEFT_DECL int switch_value(char const* text) {
  for (int w = 0; w < 8; ++w) {
    char const *a = text, *b = detail::switch_words[w];
    while (*b != '\0' && (*a | 32) == *b) ++a, ++b;  // all of them are small letters or digits, which have that bit
    if (*a == '\0' && *b == '\0') return w % 2;
  }
  return -1;
}
WEFT_DECL bool environment_switch(char const* name) {
  char const* const text = environment(name);
  int const value = text != nullptr ? switch_value(text) : 0;
  std::uint64_t const bit = std::uint64_t(1) << (value < 0 ? xxh64(name) % 64 : 0);
  if (value < 0 && (__atomic_fetch_or(&detail::switches_told, bit, __ATOMIC_RELAXED) & bit) == 0)
    std::fprintf(stderr, "weft: %s: '%s' is neither on nor off; known are 1, true, yes, on, 0, false, no, off\n", name,
                 text);
  return value == 1;
}
WEFT_DECL int environment_number(char const* name, int lowest, int highest, int otherwise) {
  char const* text = environment(name);
  if (text == nullptr) return otherwise;
  char* end = nullptr;
  long const value = std::strtol(text, &end, 10);
  if (*end == '\0' && value >= lowest && value <= highest) return static_cast<int>(value);
  std::fprintf(stderr, "weft: %s: '%s' is no number from %d to %d; %d is taken\n", name, text, lowest, highest, otherwise);
  return otherwise;
}

}  // namespace weft::inline WEFT_ABI
