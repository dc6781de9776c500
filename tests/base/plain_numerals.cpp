#include "weft/base/plain_numerals.hpp"

#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "support/comma_locale.hpp"

namespace {
std::string printed(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", x);
  return text;
}
}  // namespace

TEST_CASE("numbers have a point while plain numerals are asked for, and the program's locale stays") {
  weft_test::comma_locale const comma;
  if (!comma.is_there()) return;
  CHECK(printed(1.5) == "1,5");
  {
    weft::detail::plain_numerals const outer;
    {
      weft::detail::plain_numerals const inner;
      CHECK(printed(1.5) == "1.5");
    }
    CHECK(printed(-2.25) == "-2.25");
    CHECK(std::strtod("1.5", nullptr) == 1.5);
  }
  CHECK(printed(1.5) == "1,5");
  CHECK(std::strtod("1,5", nullptr) == 1.5);
}
