#include "weft/tune/progress.hpp"

#include <doctest/doctest.h>

using namespace weft;

TEST_CASE("a line tells whose trial it was, how fast trials are, the best, and what is left of trials or of seconds") {
  CHECK(progress_line({12, 24, 1.0, 60, 122e3, 250e3, "matmul"}) ==
        "matmul: 12 of 24 trials, 12.0 a second; best 122 us, 2.05 times as fast as without tuning; at most 1.0 s left");
  CHECK(progress_line({12, 2400, 1.0, 2.5, 0, 0, ""}) == "12 of 2400 trials, 12.0 a second; none is right yet; at most 1.5 s left");
  CHECK(progress_line({24, 24, 2.0, 60, 122e3, 250e3, "matmul", 3}) ==
        "matmul: 24 of 24 trials, 3 rounds of turns, 12.0 a second; best 122 us, 2.05 times as fast as without tuning; at most 0.0 s left");
  CHECK(progress_line({1, 8, 0, 0, 100, 0, "k"}) == "k: 1 of 8 trials; best 100 ns; at most 0.0 s left");
}
