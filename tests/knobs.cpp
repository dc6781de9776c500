#include "weft/knobs.hpp"

#include <doctest/doctest.h>

#include "schedule/programs.hpp"
#include "weft/schedule/print.hpp"

using namespace weft;

namespace {
/// The values that `pick` gives under each choice of its first knob.
template <class Pick>
sequence<std::int64_t> values_of(Pick const& pick) {
  program const p = weft_test::matmul();
  sequence<std::int64_t> all;
  for (std::int32_t c = 0;; ++c) {
    schedule s(p, [](int, int) { return std::int64_t(12); });
    s.choices = sequence<std::int32_t>{c};
    all.push_back(pick(s));
    if (c + 1 == static_cast<std::int32_t>(s.knobs[0].values.size())) return all;
  }
}
}  // namespace

TEST_CASE("a power of two is between its limits, the largest first") {
  CHECK(values_of([](schedule& s) { return power_of_two(s, "n", 8, 64); }) == sequence<std::int64_t>{64, 32, 16, 8});
  CHECK(values_of([](schedule& s) { return power_of_two(s, "n", 5, 20); }) == sequence<std::int64_t>{16, 8});
}
TEST_CASE("no power of two between the limits is a refused knob") {
  program const p = weft_test::matmul();
  schedule s(p, [](int, int) { return std::int64_t(12); });
  static_cast<void>(power_of_two(s, "n", 5, 7));
  CHECK(s.state == verdict::illegal);
}
TEST_CASE("two knobs of one name are refused, by their name, and names of more than 30 characters") {
  program const p = weft_test::matmul();
  schedule s(p, [](int, int) { return std::int64_t(12); });
  CHECK(s.knob("nr", {8, 4}) == 8);
  CHECK(s.knob("mr", {8, 4}) == 8);
  CHECK(s.state == verdict::legal);
  CHECK(s.knob("nr", {8, 4}) == 8);
  CHECK(s.state == verdict::illegal);
  CHECK(s.knobs.size() == 2);
  CHECK(explain(s, "product") == "knob \"nr\": two knobs have this name; give each its own\n  in    schedule of product\n"
                                 "  try   its number kept in a variable where it is one knob: auto n = s.knob(..)");
  schedule cut(p, [](int, int) { return std::int64_t(12); });
  static_cast<void>(cut.knob("the_rows_of_a_tile_in_register", {8, 4}));
  CHECK(cut.state == verdict::legal);
  static_cast<void>(cut.knob("the_rows_of_a_tile_in_registers", {8, 4}));
  CHECK(cut.state == verdict::illegal);
  CHECK(explain(cut, "product").find("the name of a knob has at most 30 characters") != std::string::npos);
}
TEST_CASE("divisors divide, the largest first, and 1 is one of each number, also of one that is not known") {
  CHECK(values_of([](schedule& s) { return divisor(s, "n", 12, 100); }) == sequence<std::int64_t>{12, 6, 4, 3, 2, 1});
  CHECK(values_of([](schedule& s) { return divisor(s, "n", 12, 5); }) == sequence<std::int64_t>{4, 3, 2, 1});
  CHECK(values_of([](schedule& s) { return divisor(s, "n", -1, 5); }) == sequence<std::int64_t>{1});
  CHECK(values_of([](schedule& s) { return divisor(s, "n", axis{0}, 5); }) == sequence<std::int64_t>{4, 3, 2, 1});
  CHECK(values_of([](schedule& s) { return divisor(s, "n", axis{-1}, 5); }) == sequence<std::int64_t>{1});
}
TEST_CASE("a switch is off first") {
  CHECK(values_of([](schedule& s) { return std::int64_t(flag(s, "on")); }) == sequence<std::int64_t>{0, 1});
}
TEST_CASE("permutations are all orders, each once, the given one first") {
  sequence<std::int64_t> const orders = values_of([](schedule& s) {
    auto const [a, b, c] = permutation(s, "order", axis{1}, axis{2}, axis{3});
    return std::int64_t(100 * a.id + 10 * b.id + c.id);
  });
  CHECK(orders == sequence<std::int64_t>{123, 132, 213, 231, 312, 321});
}
TEST_CASE("the compiler runs them, too") {
  constexpr std::int64_t sum = [] {
    program const p = weft_test::matmul();
    schedule s(p, [](int, int) { return std::int64_t(-1); });
    auto const order = permutation(s, "order", axis{0}, axis{1});
    return power_of_two(s, "n", 8, 64) + divisor(s, "d", 12, 100) + flag(s, "f") + order[1].id;
  }();
  static_assert(sum == 64 + 12 + 0 + 1);
}
