#include "weft/runtime/apart.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <vector>

using namespace weft;
using weft::detail::apart;

namespace {
char memory[8192];

argument box(std::int64_t first, std::vector<std::int64_t> const& extents, std::vector<std::int64_t> const& strides,
             dtype type = dtype::f32) {
  argument a;
  a.data = memory + first;
  a.type = type;
  a.rank = static_cast<std::int8_t>(extents.size());
  std::copy(extents.begin(), extents.end(), a.extents);
  std::copy(strides.begin(), strides.end(), a.strides);
  return a;
}
/// Which bytes of `memory` belong to it, one after the other.
std::vector<bool> bytes_of(argument const& a) {
  std::vector<bool> marks(sizeof memory, false);
  std::vector<std::int64_t> at(static_cast<std::size_t>(a.rank), 0);
  for (;;) {
    std::int64_t place = static_cast<char const*>(a.data) - memory;
    for (int d = 0; d < a.rank; ++d) place += at[static_cast<std::size_t>(d)] * a.strides[d] * size_bytes(a.type);
    for (int b = 0; b < size_bytes(a.type); ++b) marks.at(static_cast<std::size_t>(place + b)) = true;
    int d = a.rank;
    while (d-- > 0 && ++at[static_cast<std::size_t>(d)] == a.extents[d]) at[static_cast<std::size_t>(d)] = 0;
    if (d < 0) return marks;
  }
}
bool share(argument const& a, argument const& b) {
  std::vector<bool> const x = bytes_of(a), y = bytes_of(b);
  for (std::size_t i = 0; i < x.size(); ++i)
    if (x[i] && y[i]) return true;
  return false;
}
}  // namespace

TEST_CASE("what lies among something else and shares nothing with it is apart") {
  CHECK(apart(box(0, {10}, {2}), box(4, {10}, {2})));                         // even and odd elements
  CHECK(apart(box(0, {10}, {2}), box(4 + 8 * 9, {10}, {-2})));                // the same, backwards
  CHECK(apart(box(0, {4, 3}, {8, 1}), box(12, {4, 5}, {8, 1})));              // columns of a matrix of 8
  CHECK(apart(box(0, {4, 3}, {8, 1}), box(12, {5, 4}, {1, 8})));              // and the other transposed
  CHECK(apart(box(0, {4, 3}, {8, 1}), box(12, {4}, {8})));                    // one column
  CHECK(apart(box(32, {2}, {1}), box(0, {4, 2}, {16, 1})));                   // a row between rows
  CHECK(apart(box(0, {4, 3}, {8, 1}), box(16, {4, 2}, {4, 1}, dtype::f64)));  // steps count in bytes
  CHECK(apart(box(0, {2, 3, 3}, {40, 8, 1}), box(12, {2, 4, 2}, {40, 8, 1})));
  CHECK_FALSE(apart(box(0, {10}, {2}), box(8, {10}, {2})));
  CHECK_FALSE(apart(box(0, {4, 3}, {8, 1}), box(8, {4, 5}, {8, 1})));
  CHECK_FALSE(apart(box(0, {4, 3}, {8, 1}), box(12, {4, 6}, {8, 1})));  // around the end of a row
  CHECK_FALSE(apart(box(0, {10}, {2}), box(4, {5}, {6})));              // other strides: not decided
}
TEST_CASE("apart is never said of what shares a byte, and always of other boxes of the same array") {
  unsigned const seed = 20261121;
  CAPTURE(seed);
  std::mt19937 random(seed);
  auto const below = [&](std::int64_t n) { return static_cast<std::int64_t>(random() % static_cast<unsigned>(n)); };
  int said = 0, shared = 0;
  for (int trial = 0; trial < 5000; ++trial) {
    // Boxes of one array: a range of each dimension, some with gaps, backwards or in another order.
    int const rank = 1 + static_cast<int>(below(3));
    std::vector<std::int64_t> whole, strides(static_cast<std::size_t>(rank), 1);
    for (int d = 0; d < rank; ++d) whole.push_back(1 + below(6));
    for (int d = rank - 1; d-- > 0;) {
      auto const at = static_cast<std::size_t>(d);
      strides[at] = strides[at + 1] * whole[at + 1] + below(2);
    }
    auto const part = [&] {
      std::vector<std::int64_t> extents, steps;
      std::int64_t first = 0;
      for (int d = 0; d < rank; ++d) {
        auto const at = static_cast<std::size_t>(d);
        std::int64_t const low = below(whole[at]), n = 1 + below(whole[at] - low);
        bool const backwards = below(4) == 0;
        first += strides[at] * (backwards ? low + n - 1 : low);
        extents.push_back(n), steps.push_back(backwards ? -strides[at] : strides[at]);
      }
      if (below(4) == 0) std::reverse(extents.begin(), extents.end()), std::reverse(steps.begin(), steps.end());
      return box(4096 + 4 * first, extents, steps);
    };
    argument const a = part(), b = part();
    bool const really = share(a, b);
    CHECK(apart(a, b) == !really);
    CHECK(apart(b, a) == !really);
    // Anything else: only what is safe.
    auto const any = [&] {
      std::vector<std::int64_t> extents, steps;
      for (int d = 0; d < rank; ++d) extents.push_back(1 + below(5)), steps.push_back(below(25) - 12);
      return box(4096 + below(64), extents, steps, below(2) == 0 ? dtype::i16 : dtype::f32);
    };
    argument const c = any(), d = any();
    bool const both = share(c, d);
    CHECK_FALSE((apart(c, d) && both));
    said += apart(c, d), shared += both;
  }
  CHECK(said > 1000);
  CHECK(shared > 1000);
}
