#include "weft/base/env.hpp"

#include <doctest/doctest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

using namespace weft;

namespace {
/// What `f` writes to stderr, and its result as a digit behind it; in a process of its own, since some is told once.
template <class F>
std::string said(char const* variable, char const* value, F f) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  pid_t const child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::dup2(ends[1], 2);
    value != nullptr ? ::setenv(variable, value, 1) : ::unsetenv(variable);
    std::string const result = std::to_string(f());
    bool const whole = ::write(2, result.data(), result.size()) == static_cast<ssize_t>(result.size());
    ::_exit(whole ? 0 : 1);
  }
  ::close(ends[1]);
  std::string text;
  char piece[512];
  for (ssize_t n = 0; (n = ::read(ends[0], piece, sizeof piece)) > 0;) text.append(piece, static_cast<std::size_t>(n));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(status == 0);
  return text;
}
}  // namespace

TEST_CASE("a switch has four words for on and four for off, in any case") {
  for (char const* word : {"1", "true", "True", "TRUE", "yes", "YES", "on", "oN"}) CHECK(switch_value(word) == 1);
  for (char const* word : {"0", "false", "False", "no", "NO", "off", "OFF", "oFf"}) CHECK(switch_value(word) == 0);
  for (char const* word : {"", "2", "10", "o", "onn", "of", " on", "on ", "tru", "truee", "-1", "/tmp", "n"})
    CHECK(switch_value(word) == -1);
}
TEST_CASE("what is no switch is off and named once, each variable for itself") {
  auto const on = [] { return static_cast<int>(environment_switch("WEFT_TIME")); };
  for (char const* word : {"1", "true", "YES", "on"}) CHECK(said("WEFT_TIME", word, on) == "1");
  for (char const* word : {"0", "False", "no", "OFF", ""}) CHECK(said("WEFT_TIME", word, on) == "0");
  CHECK(said("WEFT_TIME", nullptr, on) == "0");
  std::string const known = " is neither on nor off; known are 1, true, yes, on, 0, false, no, off\n";
  CHECK(said("WEFT_TIME", "2", [&] { return on() + on(); }) == "weft: WEFT_TIME: '2'" + known + "0");
  auto const all = [] {
    int n = 0;
    for (char const* name : {"WEFT_CHECKED", "WEFT_DEBUG", "WEFT_PERF", "WEFT_TIME", "WEFT_VERIFY"}) {
      ::setenv(name, "perhaps", 1);
      for (int i = 0; i < 3; ++i) n += environment_switch(name);
    }
    return n;
  };
  std::string const text = said("WEFT_TIME", "", all);
  for (char const* name : {"WEFT_CHECKED", "WEFT_DEBUG", "WEFT_PERF", "WEFT_TIME", "WEFT_VERIFY"}) {
    std::size_t const at = text.find(std::string("weft: ") + name + ": 'perhaps'" + known);
    CHECK(at != std::string::npos);
    CHECK(text.find(name, at + 30) == std::string::npos);
  }
}
TEST_CASE("a number that is malformed or too large is named, and another is taken") {
  auto const number = [] { return environment_number("WEFT_THREADS", 1, 64, 7); };
  CHECK(said("WEFT_THREADS", "3", number) == "3");
  CHECK(said("WEFT_THREADS", nullptr, number) == "7");
  CHECK(said("WEFT_THREADS", "65", number) == "weft: WEFT_THREADS: '65' is no number from 1 to 64; 7 is taken\n7");
  CHECK(said("WEFT_THREADS", "2x", number) == "weft: WEFT_THREADS: '2x' is no number from 1 to 64; 7 is taken\n7");
}
