// Elements narrower than a word at places that are data: a processor gathers words, which lie in one page with their elements.
#include <cstring>
#include <numeric>
#include <vector>

#include "schedule/rules/check.hpp"
#include "support/fenced_bytes.hpp"
#include "weft/weft.hpp"

using namespace weft_test;
using weft::compute;

namespace {
constexpr auto picked = weft::kernel<"picked">(
    [](auto x, auto at) {
      return compute<"y">(at.extent(0), [=](auto i) { return x(weft::clamp(weft::cast<std::int64_t>(at(i)), 0, x.extent(0) - 1)); });
    },
    [](auto& s, auto, auto, auto y) { s.vectorize(y.axes()[0], 32); });

/// The table fills the end of a page, behind which nothing may be read, or its beginning, in front of which nothing may be.
template <class T>
void check_at_edges(std::int64_t n, bool at_the_end) {
  fenced_bytes const memory(static_cast<std::size_t>(n) * sizeof(T), at_the_end);
  auto* const x = reinterpret_cast<T*>(memory.data());
  for (std::int64_t i = 0; i < n; ++i) {
    auto const bits = static_cast<std::uint16_t>(0x3f80 + i * 7);  // of floats a number, too
    std::memcpy(x + i, &bits, sizeof(T));
  }
  std::vector<std::int32_t> at(1000);
  for (std::size_t i = 0; i < at.size(); ++i) at[i] = static_cast<std::int32_t>(i * 37 % static_cast<std::size_t>(n));
  std::vector<T> y(at.size());
  picked(weft::view(static_cast<T const*>(x), n), at, weft::out(y));
  for (std::size_t i = 0; i < at.size(); ++i) CHECK(std::memcmp(&y[i], x + at[i], sizeof(T)) == 0);
}
}  // namespace

TEST_CASE("narrow elements are gathered from the ends of a page, and nothing beyond") {
  for (std::int64_t n : {1, 2, 3, 5, 31, 257})
    for (bool const at_the_end : {false, true}) {
      check_at_edges<std::uint8_t>(n, at_the_end);
      check_at_edges<std::int8_t>(n, at_the_end);
      check_at_edges<std::uint16_t>(n, at_the_end);
      check_at_edges<std::int16_t>(n, at_the_end);
      check_at_edges<weft::bf16>(n, at_the_end);
      check_at_edges<weft::f16>(n, at_the_end);
    }
}
TEST_CASE("where the machine gathers words, bytes make no branch for each lane") {
  if (!weft::host().has("avx512f")) {
    MESSAGE("[skip] a machine without AVX-512");
    return;
  }
  std::vector<std::uint8_t> const x(300, 7);
  std::vector<std::int32_t> const at(1000, 3);
  std::string const code = picked.assembly(x, at);
  CHECK(code.find("vpgather") != std::string::npos);
}
