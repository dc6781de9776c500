#include "weft/base/node_set.hpp"

#include <doctest/doctest.h>

#include <map>
#include <set>

TEST_CASE("numbers are met once, and what is known of one stays with it, however many there are") {
  weft::detail::node_set met;
  weft::detail::node_map<std::int64_t> known;
  std::set<std::int32_t> all;
  std::map<std::int32_t, std::int64_t> values;
  CHECK_FALSE(met.has(0));
  CHECK(known.find(0) == nullptr);
  std::uint64_t state = 7;
  for (int i = 0; i < 2000; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    auto const id = static_cast<std::int32_t>((state >> 40) % 700 * (i % 3 == 0 ? 64 : 1));  // some of which begin at one place
    CHECK(met.add(id) == all.insert(id).second);
    known.of(id) += i, values[id] += i;
  }
  for (std::int32_t id = 0; id < 700 * 64; ++id) {
    bool const there = all.count(id) > 0;
    std::int64_t const* const value = known.find(id);
    REQUIRE(met.has(id) == there);
    REQUIRE((value != nullptr) == there);
    if (there) REQUIRE(*value == values[id]);
  }
}
