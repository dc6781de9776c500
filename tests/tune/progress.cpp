#include "weft/tune/progress.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>

using namespace weft;

TEST_CASE("a line tells whose trial it was, how fast trials are, the best, and what is left of trials or of seconds") {
  CHECK(progress_line({12, 24, 1.0, 60, 122e3, 250e3, "matmul"}) ==
        "matmul: 12 of 24 trials, 12.0 a second; best 122 us, 2.05 times as fast as without tuning; at most 1.0 s left");
  CHECK(progress_line({12, 2400, 1.0, 2.5, 0, 0, ""}) == "12 of 2400 trials, 12.0 a second; none is right yet; at most 1.5 s left");
  CHECK(progress_line({24, 24, 2.0, 60, 122e3, 250e3, "matmul", 3}) ==
        "matmul: 24 of 24 trials, 3 rounds of turns, 12.0 a second; best 122 us, 2.05 times as fast as without tuning");
  constexpr double endless = std::numeric_limits<double>::infinity();
  CHECK(progress_line({1, 8, 0, endless, 100, 0, "k"}) == "k: 1 of 8 trials; best 100 ns");
  CHECK(progress_line({2, 8, 1, endless, 100, 0, "k"}) == "k: 2 of 8 trials, 2.0 a second; best 100 ns; at most 3.0 s left");
  constexpr std::int64_t no_end = std::numeric_limits<std::int64_t>::max();
  CHECK(progress_line({2, no_end, 1, endless, 100, 0, "k"}) == "k: 2 of 9223372036854775807 trials, 2.0 a second; best 100 ns");
  CHECK(progress_line({1, 8, 0, 0, 100, 0, "k"}) == "k: 1 of 8 trials; best 100 ns; at most 0.0 s left");
}
