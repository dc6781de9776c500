#include "weft/runtime/cache/entry.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <memory>
#include <random>

#include "support/objects.hpp"
#include "weft/base/hash.hpp"
#include "weft/runtime/cache/key.hpp"

using namespace weft;

namespace {

/// A real one.
struct written {
  weft_test::kernel_object o = weft_test::tile_object(x86_64_sse2());
  std::string key = std::string(700, '\x3c') + "tile";
  std::string bytes = encode(cache::entry{key, "22.1.8", o.code.symbol, o.code.bytes, 4096});
};
bool decodes(std::string const& bytes) {
  // In memory that ends where the bytes end, for the address sanitizer.
  std::unique_ptr<char[]> const exact(new char[bytes.size() + 1]);
  std::memcpy(exact.get() + 1, bytes.data(), bytes.size());
  cache::entry e;
  return cache::decode({exact.get() + 1, bytes.size()}, e);
}
std::string sealed(std::string bytes) {  // with a checksum that is right
  bytes.resize(bytes.size() - 8);
  std::uint64_t const sum = xxh64(bytes);
  bytes.append(reinterpret_cast<char const*>(&sum), sizeof sum);
  return bytes;
}

}  // namespace

TEST_CASE("an entry comes back as it was written") {
  written const w;
  cache::entry e;
  REQUIRE(cache::decode(w.bytes, e));
  CHECK(e.key == w.key);
  CHECK(e.llvm == "22.1.8");
  CHECK(e.symbol == w.o.code.symbol);
  CHECK(e.object == w.o.code.bytes);
  CHECK(e.workspace_bytes == 4096);
  CHECK(cache::encode(e) == w.bytes);
  CHECK(sealed(w.bytes) == w.bytes);
}
TEST_CASE("an entry with any one byte or bit changed is refused") {
  written w;
  std::size_t accepted = 0;
  for (char& c : w.bytes)
    for (int flip : {0xff, 1 << (&c - w.bytes.data()) % 8, 0x20}) {
      c = static_cast<char>(c ^ flip);
      accepted += decodes(w.bytes) ? 1 : 0;
      c = static_cast<char>(c ^ flip);
    }
  CHECK(accepted == 0);
  CHECK(decodes(w.bytes));
}
TEST_CASE("an entry that is cut, or goes on, is refused at every length") {
  written const w;
  std::size_t accepted = 0;
  for (std::size_t n = 0; n < w.bytes.size(); ++n) accepted += decodes(w.bytes.substr(0, n)) ? 1 : 0;
  CHECK(accepted == 0);
  CHECK_FALSE(decodes(w.bytes + '\0'));
  CHECK_FALSE(decodes(w.bytes + w.bytes));
  CHECK_FALSE(decodes(sealed(w.bytes + std::string(8, '\0'))));
}
TEST_CASE("another format is refused even with a checksum that is right") {
  written const w;
  for (std::size_t i = 0; i < 16; ++i) {
    std::string other = w.bytes;
    ++other[i];
    CHECK_FALSE(decodes(sealed(other)));
  }
}
TEST_CASE("lengths that lie are refused, and nothing beyond the bytes is read") {
  unsigned const seed = std::random_device()();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  written const w;
  std::uint32_t const odd[] = {0, 1, 7, 0x7fffffff, 0x80000000u, 0xfffffff8u, 0xffffffffu};
  for (int n = 0; n < 20000; ++n) {
    std::string other = w.bytes;
    if (n % 4 == 0) other.resize(8 + random() % (other.size() - 8));
    auto const value = static_cast<std::uint32_t>(n % 2 == 0 ? odd[random() % 7] : random() % w.bytes.size());
    // The lengths of the texts stand between them; at any place, so all are met.
    std::size_t const at = random() % (n % 3 == 0 ? other.size() - 4 : 64 < other.size() - 4 ? 64 : other.size() - 4);
    std::memcpy(other.data() + at, &value, sizeof value);
    static_cast<void>(decodes(sealed(other)));
  }
  std::string negative = w.bytes;
  std::memset(negative.data() + 16, 0xfe, 8);  // workspace_bytes
  CHECK_FALSE(decodes(sealed(negative)));
}
