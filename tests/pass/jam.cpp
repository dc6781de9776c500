#include "weft/pass/jam.hpp"

#include <doctest/doctest.h>

#include "pass/text.hpp"

namespace {
std::string jammed(std::string const& body) {
  return weft_test::from_text(body).after([](weft::ir::function& f) { return weft::jam(f, f.body); });
}
/// Whether the loops of the first part and of the second one, in a loop over rows, are one.
bool run_as_one(std::string const& first, std::string const& second) {
  std::string const text = jammed("  for i in 0..8:\n    for j in 0..64 jam 1:\n      " + first + "\n    for k in 0..64 jam 1:\n      " + second + "\n");
  INFO(text);
  CHECK(text.find("jam") == std::string::npos);
  return text.find("for k") == std::string::npos;
}
}  // namespace

TEST_CASE("loops of one group that stand one behind the other run as one, with what is asked for in them") {
  CHECK(jammed("  for i in 0..8:\n    for j in 0..64 jam 1 prefetch A 4:\n      B[j] = A[j]\n    for k in 0..64 jam 1 prefetch D 2 into l2:\n      C[i, k] = cast<f32>(D[k])\n") ==
        "for i in 0..8:\n"
        "  for j in 0..64 prefetch A 4 prefetch D 2 into l2:\n"
        "    B[j] = A[j]\n"
        "    C[i, j] = cast<f32>(D[j])\n");
}
TEST_CASE("what ends before the last iteration of the loop around does so by itself") {
  CHECK(jammed("  for i in 0..8:\n    if i + 2 < 8:\n      for j in 0..64 jam 1:\n        B[j] = A[j]\n    for k in 0..64 jam 1:\n      C[i, k] = cast<f32>(D[k])\n") ==
        "block:\n"
        "  for i in 0..6:\n"
        "    for j in 0..64:\n"
        "      B[j] = A[j]\n"
        "      C[i, j] = cast<f32>(D[j])\n"
        "  for i in 6..8:\n"
        "    if i + 2 < 8:\n"
        "      for j in 0..64:\n"
        "        B[j] = A[j]\n"
        "    for k in 0..64:\n"
        "      C[i, k] = cast<f32>(D[k])\n");
  // Fewer iterations than that: none of them has all parts. Of an open length as many as there are.
  CHECK(jammed("  for i in 0..2:\n    if i + 3 < 2:\n      for j in 0..64 jam 1:\n        B[j] = A[j]\n    for k in 0..64 jam 1:\n      C[i, k] = 1.0f32\n").find("for i in 0..0:\n") !=
        std::string::npos);
  std::string const open = jammed("  for i in 0..n:\n    if i + 1 < n:\n      for j in 0..64 jam 1:\n        B[j] = A[j]\n    for k in 0..64 jam 1:\n      C[i, k] = 1.0f32\n");
  INFO(open);
  CHECK(open.find("for i in 0..n + -1:\n") != std::string::npos);
}
TEST_CASE("several parts under one condition") {
  CHECK(jammed("  for i in 0..8:\n    if i + 1 < 8:\n      for j in 0..64 jam 1:\n        B[j] = A[j]\n      for l in 0..64 jam 1:\n        C[i + 1, l] = B[l]\n    for k in 0..64 jam 1:\n      C[i, k] = 1.0f32\n")
            .find("for i in 0..7:\n    for j in 0..64:\n      B[j] = A[j]\n      C[i + 1, j] = B[j]\n      C[i, j] = 1.0f32\n") != std::string::npos);
}
TEST_CASE("what is made before a loop and of it stays before and behind") {
  std::string const text = jammed("  for i in 0..8:\n    if i + 1 < 8:\n      C[0, 0] = 1.0f32\n      for j in 0..63 jam 1:\n        C[1, j] = A[j]\n      C[0, 1] = 2.0f32\n    for k in 0..63 jam 1:\n      B[k] = A[k]\n");
  INFO(text);
  CHECK(text.find("  for i in 0..7:\n    C[0, 0] = 1.0f32\n    for j in 0..63:\n      C[1, j] = A[j]\n      B[j] = A[j]\n    C[0, 1] = 2.0f32\n") != std::string::npos);
}
TEST_CASE("an iteration may read what the part before has written in it, and nothing of another one") {
  CHECK(run_as_one("B[j] = A[j]", "C[i, k] = B[k]"));
  CHECK(run_as_one("B[j] = A[j]", "C[i, k] = A[k]"));
  CHECK_FALSE(run_as_one("B[j] = A[j]", "C[i, k] = B[63 - k]"));
  CHECK_FALSE(run_as_one("B[j] = A[j]", "C[i, k] = B[0]"));
  CHECK_FALSE(run_as_one("B[j] = A[j]", "C[i, k] = B[max(k - 1, 0)]"));
  CHECK_FALSE(run_as_one("B[0] = A[j]", "C[i, k] = B[0]"));
  CHECK_FALSE(run_as_one("B[j] = A[j]", "B[63 - k] = 1.0f32"));
  CHECK_FALSE(run_as_one("B[j] = C[i, 63 - j]", "C[i, k] = 1.0f32"));
  // Rows of other iterations of the loop around, by their own number and by that of their place.
  CHECK(run_as_one("C[(i + 1) %% 8, j] = A[j]", "B[k] = C[i %% 8, 63 - k]"));
  CHECK(run_as_one("C[i + 1, j] = A[j]", "B[k] = C[i, 63 - k]"));
  CHECK_FALSE(run_as_one("C[(i + 2) %% 2, j] = A[j]", "B[k] = C[i %% 2, 63 - k]"));
  CHECK_FALSE(run_as_one("C[(i + 1) %% 2, j] = A[j]", "B[k] = C[i %% 3, 63 - k]"));
}
TEST_CASE("variables of loops inside are other ones in each part, whatever they are called") {
  auto const is_one = [](std::string const& body) {
    std::string const text = jammed("  for i in 0..8:\n" + body);
    INFO(text);
    CHECK(text.find("jam") == std::string::npos);
    std::size_t const first = text.find("in 0..63:");
    return first != std::string::npos && text.find("in 0..63:", first + 1) == std::string::npos;
  };
  CHECK(is_one("    for j in 0..63 jam 1:\n      B[j] = A[j]\n    for j in 0..63 jam 1:\n      C[i, j] = B[j]\n"));
  CHECK_FALSE(is_one("    for j in 0..63 jam 1:\n      B[j] = A[j]\n    for j in 0..63 jam 1:\n      C[i, j] = B[j + 1]\n"));
  CHECK_FALSE(is_one("    for j in 0..63 jam 1:\n      for l in 0..16:\n        B[j * 8 + l] = A[0]\n    for k in 0..63 jam 1:\n      for l in 0..16:\n        C[i, l] = B[k * 8 + l]\n"));
}
TEST_CASE("bounds that are read, rings of no length, and memory of two parts are left alone") {
  CHECK_FALSE(run_as_one("C[(i + 1) %% 0, j] = A[j]", "B[k] = C[i %% 0, 63 - k]"));
  for (char const* const body : {
           "  for i in 0..8:\n    for j in cast<i64>(B[0])..cast<i64>(B[0]) + 8 jam 1:\n      B[j] = 3.0f32\n    for k in cast<i64>(B[0])..cast<i64>(B[0]) + 8 jam 1:\n      C[i, k] = 1.0f32\n",
           "  for i in 0..cast<i64>(B[0]):\n    if i + 1 < 8:\n      for j in 0..64 jam 1:\n        B[j] = A[j]\n    for k in 0..64 jam 1:\n      C[i, k] = 1.0f32\n"}) {
    std::string const text = jammed(body);
    CAPTURE(text);
    CHECK(text.find("for k in ") != std::string::npos);
  }
}
TEST_CASE("what a loop inside asks for of the joined one's later iterations") {
  std::string const text = jammed("  for i in 0..8:\n    for j in 0..4 jam 1:\n      B[j] = A[j]\n    for k in 0..4 jam 1:\n      for l in 0..16 prefetch D 1 of k:\n        C[i, k * 16 + l] = cast<f32>(D[k * 16 + l])\n");
  INFO(text);
  CHECK(text.find("    for l in 0..16 prefetch D 1 of j:\n      C[i, j * 16 + l] =") != std::string::npos);
}
TEST_CASE("vectors of several lanes go on by no less than they touch") {
  auto const by = [](int step, char const* read) {
    std::string const s = std::to_string(step);
    std::string const text = jammed("  for i in 0..8:\n    for j in 0..4 jam 1:\n      B[ramp(j * " + s + ", 1, 8)] = A[ramp(j * " + s + ", 1, 8)]\n      B[ramp(j * " + s + " + 8, 1, 8)] = A[ramp(0, 1, 8)]\n" +
                                    "    for k in 0..4 jam 1:\n      C[i, ramp(k * " + s + ", 1, 8)] = B[" + read + "]\n");
    CHECK(text.find("jam") == std::string::npos);
    return text.find("for k") == std::string::npos;
  };
  CHECK(by(16, "ramp(k * 16, 1, 8)"));
  CHECK(by(16, "ramp(k * 16 + 8, 1, 8)"));
  CHECK_FALSE(by(16, "ramp(k * 16 + 9, 1, 8)"));
  CHECK_FALSE(by(8, "ramp(k * 8, 1, 8)"));  // the second vector is the next iteration's first one
  CHECK(by(16, "ramp(k * 16, 2, 8)"));
  CHECK_FALSE(by(16, "ramp(k * 16, 3, 8)"));
}
TEST_CASE("loops that are not alike, or beside something else, stay apart") {
  for (char const* const body : {
           "  for i in 0..8:\n    for j in 0..64 jam 1:\n      B[j] = A[j]\n    for k in 0..63 jam 1:\n      C[i, k] = 1.0f32\n",
           "  for i in 0..8:\n    for j in 0..n jam 1:\n      B[0] = A[0]\n    for k in 0..n jam 1:\n      C[i, 0] = 1.0f32\n",
           "  for i in 0..8:\n    for j in 0..64 jam 1:\n      B[j] = A[j]\n    for k in 0..64 jam 2:\n      C[i, k] = 1.0f32\n",
           "  for i in 0..8:\n    for j in 0..64 jam 1:\n      B[j] = A[j]\n    C[i, 0] = 2.0f32\n    for k in 0..64 jam 1:\n      C[i, k] = 1.0f32\n",
           "  for i in 0..8:\n    if i < 4:\n      for j in 0..64 jam 1:\n        B[j] = A[j]\n    else:\n      C[i, 0] = 2.0f32\n    for k in 0..64 jam 1:\n      C[i, k] = 1.0f32\n",
           "  for i in 0..8 parallel:\n    if i + 1 < 8:\n      for j in 0..64 jam 1:\n        B[j] = A[j]\n    for k in 0..64 jam 1:\n      C[i, k] = 1.0f32\n",
           "  for i in 0..8:\n    if 2 < i:\n      for j in 0..64 jam 1:\n        B[j] = A[j]\n    for k in 0..64 jam 1:\n      C[i, k] = 1.0f32\n"}) {
    std::string const text = jammed(body);
    CAPTURE(text);
    CHECK(text.find("jam") == std::string::npos);
    CHECK(text.find("for k in 0..") != std::string::npos);
  }
}
