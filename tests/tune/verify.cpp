#include "weft/tune/verify.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <string>

#include "weft/kernel.hpp"

using namespace weft;
using namespace weft::tuning;

namespace {
template <class... T>
element_list floats(T... x) {
  return {dtype::f32, {to_bits(static_cast<float>(x))...}};
}
}  // namespace

TEST_CASE("bits tell 0 from -0, and NaNs are one value; else both zeros are equal") {
  float const nan = std::numeric_limits<float>::quiet_NaN();
  element_list const zero = floats(1, 0), negative = floats(1, -0.0f), one = floats(nan, 1), other = floats(-nan, 1);
  CHECK(difference(zero, negative, {.bitwise = true}).find("element 1") == 0);
  CHECK(difference(zero, negative, {.terms = 8}).empty());
  CHECK(difference(zero, zero, {.bitwise = true}).empty());
  for (bool const bitwise : {false, true}) {
    CHECK(difference(one, other, {bitwise, 8}).empty());
    CHECK_FALSE(difference(one, floats(2, 1), {bitwise, 8}).empty());
  }
}
TEST_CASE("where nothing is summed up, one large element does not excuse the small ones") {
  element_list const expected = floats(1e6, 2, 0, 2), all_zero = floats(1e6, 0, 0, 0), near = floats(1e6, 2 + 2.5e-7, 0, 2);
  CHECK(difference(expected, all_zero, {}).find("element 1") == 0);
  CHECK_FALSE(difference(expected, near, {}).empty());
  CHECK(difference(expected, near, {.terms = 64}).empty());
  CHECK(difference(expected, floats(1e6, 2, -0.0f, 2), {}).empty());
}
