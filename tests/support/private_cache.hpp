// A directory for kernels that only one test uses.
#pragma once

#include <doctest/doctest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <weft/base/sequence.hpp>

#include "weft/runtime/cache/cache.hpp"

namespace weft_test {

/// A new directory, removed with all that is in it.
struct temporary_directory {
  std::string path;
  temporary_directory() {
    char name[] = "/tmp/weft-test.XXXXXX";
    REQUIRE(::mkdtemp(name) != nullptr);
    path = name;
  }
  ~temporary_directory() {
    std::error_code ignored;
    std::filesystem::permissions(path, std::filesystem::perms::owner_all, ignored);
    std::filesystem::remove_all(path, ignored);
  }
  temporary_directory(temporary_directory const&) = delete;
  /// Names, without directories.
  weft::sequence<std::string> files() const {
    weft::sequence<std::string> all;
    for (auto const& f : std::filesystem::directory_iterator(path)) all.push_back(f.path().filename());
    return all;
  }
};

/// Such a directory as the cache of this process.
struct private_cache : temporary_directory {
  private_cache() { weft::cache::set_directory(path); }
  ~private_cache() {
    weft::cache::set_directory("");
    weft::cache::set_limit(std::int64_t(256) << 20);
  }
};

inline std::string content(std::string const& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
inline void write_file(std::string const& path, std::string_view bytes) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << bytes;
}

}  // namespace weft_test
