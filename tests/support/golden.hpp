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

}  // namespace weft_test
