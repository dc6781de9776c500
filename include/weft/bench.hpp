// Measuring: `weft::benchmark(kernel, arguments...)`, `weft::compare({{"name", callable}, ..})`. docs/benchmark.md
//
// Not included by weft.hpp.
#pragma once

#include "weft/bench/benchmark.hpp"
#include "weft/bench/peak.hpp"
