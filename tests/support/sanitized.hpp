// Tests under sanitizers, which take five to twenty times as long, look for what they find: not for more cases of it.
#pragma once

namespace weft_test {

inline constexpr bool is_sanitized = WEFT_TEST_ASAN + WEFT_TEST_TSAN > 0;
/// How many rounds of a test there are.
template <class Integer>
constexpr Integer rounds(Integer plain, Integer sanitized) {
  return is_sanitized ? sanitized : plain;
}

}  // namespace weft_test
