#include "weft/base/hash.hpp"

#include <doctest/doctest.h>

#include <string>

TEST_CASE("xxh64 gives what the reference gives, for each of its ways through a length") {
  std::string bytes;
  for (int i = 0; i < 300; ++i) bytes += static_cast<char>(i * 7 + 1);
  auto const of = [&](std::size_t n) { return weft::xxh64(std::string_view(bytes).substr(0, n)); };
  CHECK(weft::xxh64("abc") == 0x44bc2cf5ad770999u);  // from the specification; the others by libxxhash 0.8.1
  CHECK(of(0) == 0xef46db3751d8e999u);
  CHECK(of(1) == 0x8a4127811b21e730u);
  CHECK(of(4) == 0x22eda2cf6af4c124u);
  CHECK(of(8) == 0xc6f1803a5e0b3222u);
  CHECK(of(31) == 0x6ab1c40e29f50073u);
  CHECK(of(32) == 0x5a0756fbe9ecd3d1u);
  CHECK(of(33) == 0xdc50cdc37bb9c183u);
  CHECK(of(63) == 0x10dd94885c71894au);
  CHECK(of(100) == 0xd248bfc5208b0b16u);
  CHECK(of(300) == 0xe99d1b8a38d407ddu);
}
