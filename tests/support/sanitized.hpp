// Tests under sanitizers, which take five to twenty times as long, look for what they find: not for more cases of it.
#pragma once

#if WEFT_TEST_ASAN || WEFT_TEST_TSAN
extern "C" void __sanitizer_set_death_callback(void (*)());
#endif

namespace weft_test {

inline constexpr bool is_sanitized = WEFT_TEST_ASAN + WEFT_TEST_TSAN > 0;
/// How many rounds of a test there are.
template <class Integer>
constexpr Integer rounds(Integer plain, Integer sanitized) {
  return is_sanitized ? sanitized : plain;
}

/// What is called when a sanitizer has found something and ends the process; null: nothing.
inline void before_sanitizer_exits([[maybe_unused]] void (*call)()) {
#if WEFT_TEST_ASAN || WEFT_TEST_TSAN
  __sanitizer_set_death_callback(call);
#endif
}

}  // namespace weft_test
