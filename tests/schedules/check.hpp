// A published schedule, written in weft: it gives the bits of the computation without a schedule, the values of plain loops,
// and the loops that the golden file shows.
#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <tuple>
#include <weft/weft.hpp>

#include "support/golden.hpp"

namespace weft_test {

/// Numbers between 0 and 1 that look random.
template <class T, int Rank>
void fill(weft::tensor<T, Rank>& t, double scale = 1) {
  std::uint64_t state = 42;
  for (T& x : t) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    x = static_cast<T>(static_cast<double>(state >> 40) * 0x1p-24 * scale);
  }
}
/// `expected(i, j, ..)` within `bound` of each element of what `scheduled` gives, which has the bits of what `plain` gives.
template <class Scheduled, class Plain, class Expected, class... In>
void check_schedule(char const* golden, Scheduled const& scheduled, Plain const& plain, double bound,
                    Expected const& expected, In const&... inputs) {
  auto const result = scheduled(inputs...);
  auto const whole = plain.with({.plain = true})(inputs...);
  CHECK(std::memcmp(result.data(), whole.data(), sizeof(*result.data()) * result.size()) == 0);
  auto const shape = result.shape();
  auto at = shape;
  for (std::int64_t& i : at) i = 0;
  int wrong = 0;
  for (std::size_t n = 0; n < result.size() && wrong < 3; ++n) {
    auto const wanted = std::apply(expected, at);
    double const got = static_cast<double>(result.data()[n]);
    if (!(std::fabs(got - static_cast<double>(wanted)) <= bound)) {
      ++wrong;
      FAIL_CHECK("element " << n << ": " << got << ", expected " << wanted);
    }
    for (std::size_t d = shape.size(); d-- > 0 && ++at[d] == shape[d];) at[d] = 0;
  }
  weft::target const avx2 = weft::x86_64_avx2();
  check_golden(std::string("schedules/") + golden, scheduled.on(avx2).loops(inputs...) + scheduled.on(avx2).ir(inputs...));
}

}  // namespace weft_test
