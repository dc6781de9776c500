#include "weft/tune/loop_features.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "weft/ir/parse.hpp"

using namespace weft;
using namespace weft::tuning;

namespace {
target machine() {
  target t = x86_64_avx2();
  t.vector_bytes = 32, t.l1_bytes = 32768, t.l2_bytes = 1 << 20, t.threads = 4;
  return t;
}
enum place { operations, vectors, chains, loads, repeated, gathers, sums, stores, into_l1, into_l2, l1_level, l2_level, iterations, innermost, copies, threads };
/// Of a program over x of 1024 x 1024 and y of 1024 x 1024.
loop_costs of(std::string const& variables, std::string const& body) {
  ir::arena m;
  return costs_of_loops(ir::parse(m, "kernel k:\n  variables " + variables +
                                         "\n  buffer x: f32[1024, 1024] strides [1024, 1] in argument 0 alias 0 align 4\n"
                                         "  buffer y: f32[1024, 1024] strides [1024, 1] in argument 1 written alias 1 align 4\n" +
                                         body),
                        machine());
}
double number(loop_costs const& c, place p) { return std::exp2(static_cast<double>(c.features[static_cast<std::size_t>(p)])) - 1; }
constexpr double volume = 1024.0 * 1024;
auto about(double x) { return doctest::Approx(x).epsilon(1e-4); }

std::string const rows_of_a_copy = "  for i in 0..1024:\n    for j in 0..1024:\n      y[i, j] = x[i, j]\n";
std::string const columns_of_a_copy = "  for j in 0..1024:\n    for i in 0..1024:\n      y[i, j] = x[i, j]\n";
}  // namespace

TEST_CASE("all programs have as many features, also one that does nothing") {
  CHECK(of("i, j", rows_of_a_copy).features.size() == 5 * 16);
  loop_costs const none = of("i, j", "  for i in 0..1024:\n    for j in 0..0:\n      y[i, j] = 0.0f32\n");
  CHECK(none.features.size() == 5 * 16);
  for (float f : of("i, j", rows_of_a_copy).features) CHECK(std::isfinite(f));
}
TEST_CASE("a copy reads and writes each element once, and computes nothing") {
  loop_costs const c = of("i, j", rows_of_a_copy);
  CHECK(number(c, operations) == 0);
  CHECK(number(c, loads) == about(volume));
  CHECK(number(c, stores) == about(volume));
  CHECK(number(c, into_l1) == doctest::Approx(8 * volume).epsilon(0.02));  // a row may begin inside of a line
  CHECK(number(c, iterations) == about(1024 + volume));
}
TEST_CASE("along columns a line of the cache is fetched for each element of it") {
  loop_costs const c = of("i, j", columns_of_a_copy);
  CHECK(number(c, into_l1) == about(2 * 64 * volume));  // 1024 lines of two tensors are 128 KiB: more than the first cache
  CHECK(number(c, into_l2) > 60 * volume);              // and less than the second, but all rows are at its same 32 places
  std::string const narrow = "  for j in 0..1024:\n    for i in 0..8:\n      y[i, j] = x[i, j]\n";
  CHECK(number(of("i, j", narrow), into_l1) < 9 * 8 * 1024);  // 8 rows stay, and the next columns find them
  std::string const aliased = "  for j in 0..1024:\n    for i in 0..64:\n      y[i, j] = x[i, j]\n";
  CHECK(number(of("i, j", aliased), into_l1) > 60 * 64 * 1024);  // 64 lines fit, but not in one place of 8
  CHECK(c.estimate > of("i, j", rows_of_a_copy).estimate);
}
TEST_CASE("vectors count once for each register of the machine, elements that stand apart one by one") {
  loop_costs const c = of("i, jo, j", "  for i in 0..1024:\n    for jo in 0..64:\n      for j in 0..16 vectorized:\n"
                                      "        y[i, jo * 16 + j] = x[i, jo * 16 + j] * x[0, 0] + x[jo * 16 + j, i]\n");
  CHECK(number(c, operations) == about(2 * volume));
  CHECK(number(c, vectors) == about(2 * volume / 8));
  CHECK(number(c, loads) == about(volume / 8));
  CHECK(number(c, gathers) == about(volume));
  CHECK(number(c, repeated) < volume / 16);
  CHECK(number(c, stores) == about(volume / 8));
}
TEST_CASE("what does not move in copies that are written out is read once, and sums stay in registers") {
  auto const product = [](std::string const& how) {
    return of("i, j, k, ii", "  for i in 0..256:\n    for j in 0..1024:\n      for k in 0..1024:\n        for ii in 0..4" + how +
                                 ":\n          accumulate y[i * 4 + ii, j] = x[i * 4 + ii, k] * x[k, j] + self from 0.0f32 first [k]\n");
  };
  loop_costs const serial = product(""), unrolled = product(" unrolled");
  CHECK(number(serial, loads) == about(1024.0 * volume * 1.25));
  CHECK(number(unrolled, loads) == about(1024.0 * volume * 1.25));
  CHECK(number(serial, sums) == about(1024.0 * volume));
  CHECK(number(unrolled, chains) == about(4));
  CHECK(number(unrolled, sums) == about(volume));
  CHECK(unrolled.estimate < serial.estimate);
}
TEST_CASE("threads divide the estimate, at most as many as there are") {
  auto const shared = [](std::string const& n) {
    return of("t, i, j", "  for t in 0.." + n + " parallel:\n    for i in 0..1024:\n      for j in 0..1024:\n        y[i, j] = x[i, j]\n");
  };
  CHECK(shared("8").estimate / shared("4").estimate == doctest::Approx(2).epsilon(0.01));
  CHECK(shared("2").estimate == doctest::Approx(of("i, j", rows_of_a_copy).estimate).epsilon(0.01));
}
