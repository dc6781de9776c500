// A program that has set a locale in which numbers have a decimal comma.
#pragma once

#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "support/private_cache.hpp"

namespace weft_test {

/// While it lives, 1.5 is "1,5". One of the machine's, or one that localedef makes, which is part of the C library's programs.
class comma_locale {
 public:
  comma_locale() : before_(std::setlocale(LC_NUMERIC, nullptr)) {
    for (char const* name : {"de_DE.UTF-8", "fr_FR.UTF-8"})
      if (std::setlocale(LC_NUMERIC, name) != nullptr) return;
    write_file(made_.path + "/source", "LC_NUMERIC\ndecimal_point \"<U002C>\"\nthousands_sep \"\"\ngrouping -1\nEND LC_NUMERIC\n");
    std::string const command = "localedef -c -f ANSI_X3.4-1968 -i " + made_.path + "/source " + made_.path + "/comma >/dev/null 2>&1";
    static_cast<void>(!std::system(command.c_str()));  // warns of the parts that it does not have
    ::setenv("LOCPATH", made_.path.c_str(), 1);
    static_cast<void>(std::setlocale(LC_NUMERIC, "comma"));
    ::unsetenv("LOCPATH");
  }
  ~comma_locale() { std::setlocale(LC_NUMERIC, before_.c_str()); }
  comma_locale(comma_locale const&) = delete;
  comma_locale& operator=(comma_locale const&) = delete;
  /// False, and said: there is no such locale here.
  bool is_there() const {
    char text[8];
    std::snprintf(text, sizeof text, "%.1f", 1.5);
    if (std::string(text) == "1,5") return true;
    MESSAGE("[skip] no locale with a decimal comma here");
    return false;
  }

 private:
  temporary_directory made_;
  std::string before_;
};

}  // namespace weft_test
