// Golden files: text that a test keeps under tests/golden, compared byte by byte.
#pragma once

#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

namespace weft_test {

/// Compares `text` with the file tests/golden/`path`. With WEFT_UPDATE_GOLDEN=1 in the environment the file is
/// written instead; look at the difference before you keep it.
inline void check_golden(std::string const& path, std::string const& text) {
  std::string const file = std::string(WEFT_TESTS_DIR) + "/golden/" + path;
  char const* const update = std::getenv("WEFT_UPDATE_GOLDEN");
  if (update != nullptr && *update == '1') {
    std::ofstream out(file, std::ios::binary);
    out << text;
    out.close();
    REQUIRE_MESSAGE(out.good(), "cannot write " << file);
  }
  std::ifstream in(file, std::ios::binary);
  REQUIRE_MESSAGE(in.good(), "no golden file " << file << "; WEFT_UPDATE_GOLDEN=1 writes it");
  std::string const golden{std::istreambuf_iterator<char>(in), {}};
  INFO("golden file " << path << "; WEFT_UPDATE_GOLDEN=1 rewrites it");
  CHECK(text == golden);
}

/// Compares `text` with what stands in `path`, a file of the project, between the lines `<!-- begin NAME -->` and
/// `<!-- end NAME -->`; with WEFT_UPDATE_GOLDEN=1 it is put there.
inline void check_section(std::string const& path, std::string const& name, std::string const& text) {
  std::string const file = std::string(WEFT_TESTS_DIR) + "/../" + path;
  std::ifstream in(file, std::ios::binary);
  REQUIRE_MESSAGE(in.good(), "no file " << file);
  std::string whole{std::istreambuf_iterator<char>(in), {}};
  in.close();
  std::string const begin = "<!-- begin " + name + " -->\n", end = "<!-- end " + name + " -->\n";
  std::size_t const first = whole.find(begin), last = whole.find(end);
  REQUIRE_MESSAGE((first != std::string::npos && last != std::string::npos && first < last),
                  path << " lacks the lines <!-- begin " << name << " --> and <!-- end " << name << " -->");
  std::size_t const from = first + begin.size();
  char const* const update = std::getenv("WEFT_UPDATE_GOLDEN");
  if (update != nullptr && *update == '1' && whole.substr(from, last - from) != text) {
    whole.replace(from, last - from, text);
    std::ofstream(file, std::ios::binary) << whole;
    return;
  }
  INFO(path << " is made from code here; WEFT_UPDATE_GOLDEN=1 rewrites section " << name);
  CHECK(whole.substr(from, last - from) == text);
}

}  // namespace weft_test
