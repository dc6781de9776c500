// What can go wrong, and how it leaves the library: as one of a few exceptions, through one macro.
#pragma once

#include <exception>
#include <string>

#include "weft/config.hpp"

namespace weft::inline WEFT_ABI {

/// Everything that weft throws. `what()` says what was asked, what is there, and a way out.
class error : public std::exception {
 public:
  /// With the whole text: what was asked, what is there, a way out.
  explicit error(std::string message) : message_(static_cast<std::string&&>(message)) {}
  /// The whole text.
  char const* what() const noexcept override { return message_.c_str(); }

 private:
  std::string message_;
};
/// The arguments of a call do not fit the kernel; nothing has run.
class argument_error : public error {
  using error::error;
};
/// A schedule step is not legal for this computation, these extents or this target.
class schedule_error : public error {
  using error::error;
};
/// The machine lacks something: LLVM, memory, a device.
class device_error : public error {
  using error::error;
};
/// Checked code met an access outside of a tensor, or to an element that nothing had written; outputs are written in part.
class access_error : public error {
  using error::error;
};
/// A function of the program's that computes a stage (weft/expr/extern.hpp) did not answer 0; outputs are written in part.
class extern_error : public error {
 public:
  /// With the whole text, and what the function answered.
  extern_error(std::string message, int code) : error(static_cast<std::string&&>(message)), code_(code) {}
  /// What the function answered.
  int code() const noexcept { return code_; }

 private:
  int code_;
};
/// A text (loop IR, trace, program) could not be read; the message has line and column.
class parse_error : public error {
  using error::error;
};
/// A fault of weft itself; the message carries the loop program.
class internal_error : public error {
  using error::error;
};

#if !WEFT_HAS_EXCEPTIONS
/// Without exceptions, this is called instead of throwing; it must not return. The default is `end_with`.
using failure_handler = void (*)(error const&);
/// Ends the program as an exception that nobody catches would: its text on stderr, then std::terminate.
void end_with(error const& e);
inline failure_handler& on_failure() {
  static failure_handler handler = end_with;
  return handler;
}
template <class E>
[[noreturn]] inline void fail(E const& e) {
  on_failure()(e);
  std::terminate();
}
#define WEFT_THROW(...) ::weft::fail(__VA_ARGS__)
#else
#define WEFT_THROW(...) throw __VA_ARGS__
#endif

}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/base/error.ipp"
#endif
