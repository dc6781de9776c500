#include "weft/pass/promote.hpp"

#include <doctest/doctest.h>

#include "pass/text.hpp"

namespace {
std::string promoted(std::string const& body) {
  return weft_test::from_text(body).after([](weft::ir::function& f) { return weft::promote(f, f.body); });
}
bool has(std::string const& text, std::string const& part) { return text.find(part) != std::string::npos; }
}  // namespace

TEST_CASE("a reduction loop keeps its element in a register and stores it once") {
  CHECK(promoted("  for k in 0..8:\n    accumulate B[3] = self + A[k] from 0.0f32 first [k]\n") ==
        "allocate acc4:\n  acc4[] = 0.0f32\n  for k in 0..8:\n    acc4[] = acc4[] + A[k]\n  B[3] = acc4[]\n");
}
TEST_CASE("when an outer loop may have begun the sum, the register starts with the identity or with memory") {
  CHECK(
      promoted("  for l in 0..4:\n    for k in 0..8:\n"
               "      accumulate C[0, 3] = self + A[l * 8 + k] from 0.0f32 first [l, k]\n") ==
      "allocate acc4:\n  acc4[] = 0.0f32\n  for l in 0..4:\n    for k in 0..8:\n      acc4[] = acc4[] + A[l * 8 + k]\n"
      "  C[0, 3] = acc4[]\n");
  std::string const text = promoted(
      "  for l in 0..4:\n    for j in 0..64:\n      for k in 0..8:\n"
      "        accumulate C[0, j] = self + A[l * 8 + k] from 0.0f32 first [l, k]\n");
  INFO(text);
  CHECK(has(text, "acc4[] = C[0, j where not l == 0]"));  // a masked load gives the identity of a sum by itself
  std::string const other = promoted(
      "  for l in 0..4:\n    for j in 0..64:\n      for k in 0..8:\n"
      "        accumulate C[0, j] = min(self, A[l * 8 + k]) from inf<f32> first [l, k]\n");
  INFO(other);
  CHECK(has(other, "acc4[] = select(l == 0, inf<f32>, C[0, j where not l == 0])"));
}
TEST_CASE("several elements of one loop, a register tile, get a register each, of as many lanes as they have") {
  std::string const text = promoted(
      "  for k in 0..8:\n"
      "    accumulate C[0, ramp(0, 1, 8)] = self + broadcast(A[k], 8) from 0.0f32 first [k]\n"
      "    accumulate C[1, ramp(0, 1, 8)] = self + broadcast(A[k + 8], 8) from 0.0f32 first [k]\n");
  INFO(text);
  CHECK(has(text, "allocate acc4, acc5:"));
  CHECK(has(text, "acc4[] = 0.0f32x8"));
  CHECK(has(text, "C[1, ramp(0, 1, 8)] = acc5[]"));
}
TEST_CASE("a target that moves with the loop stays in memory") {
  CHECK(promoted(
            "  for k in 0..8:\n    for j in 0..64:\n      accumulate C[0, j] = self + A[k] from 0.0f32 first [k]\n") ==
        "for k in 0..8:\n  for j in 0..64:\n"
        "    C[0, j] = C[0, j where not k == 0] + A[k]\n");
}
TEST_CASE("an element keeps its register across a branch both ways of which lead to it") {
  CHECK(promoted("  for k in 0..8:\n    if k * 8 + 7 < 60:\n      accumulate B[3] = self + A[k] from 0.0f32 first [k]\n"
                 "    else:\n      accumulate B[3] = self from 0.0f32 first [k]\n") ==
        "allocate acc4:\n  acc4[] = 0.0f32\n  for k in 0..8:\n    if k * 8 + 7 < 60:\n      acc4[] = acc4[] + A[k]\n"
        "    else:\n      acc4[] = acc4[]\n  B[3] = acc4[]\n");
}
TEST_CASE("an element that one way of a branch does not reach is not kept in a register: it may not be there") {
  std::string const update = "      accumulate B[3] = self + A[k] from 0.0f32 first [k]\n";
  CHECK_FALSE(has(promoted("  for k in 0..8:\n    if k < 5:\n" + update), "acc"));
  CHECK_FALSE(has(promoted("  for k in 0..8:\n    if k < 5:\n" + update +
                           "    else:\n      accumulate B[4] = self + A[k] from 0.0f32 first [k]\n"),
                  "acc"));
}
TEST_CASE("an element that another update reads is not kept in a register") {
  std::string const text = promoted(
      "  for k in 0..8:\n    accumulate B[0] = self + C[0, 0] from 0.0f32 first [k]\n"
      "    accumulate C[0, 0] = self + A[k] from 0.0f32 first [k]\n");
  INFO(text);
  CHECK_FALSE(has(text, "acc"));
}
TEST_CASE("one element under two masks is not kept in two registers") {
  // The last tile of an unrolled reduction; with a register each, one store overwrote the other's sum.
  std::string const text = promoted(
      "  for l in 0..4:\n"
      "    accumulate B[0] = self + A[l] from 0.0f32 first [l] where 3 < n\n"
      "    accumulate B[0] = self + A[l + 8] from 0.0f32 first [] where 4 < n\n");
  INFO(text);
  CHECK_FALSE(has(text, "acc"));
}
TEST_CASE("an accumulate that is never first always reads its element") {
  CHECK(promoted("  accumulate B[3] = self + A[0] from 0.0f32 first []\n") == "B[3] = B[3] + A[0]\n");
}
TEST_CASE("an accumulate that is never first reads its element only where its loop has an iteration") {
  // What a folded stage computes for a part without elements: the memory was never written.
  std::string const text = promoted("  for j in 0..4:\n    for k in 0..j:\n      accumulate B[j] = self + A[k] from 0.0f32 first []\n");
  CHECK(text ==
        "for j in 0..4:\n  if 0 < j:\n    allocate acc4:\n      acc4[] = B[j]\n      for k in 0..j:\n"
        "        acc4[] = acc4[] + A[k]\n      B[j] = acc4[]\n");
}
TEST_CASE("updates of one element side by side become one, unless something between reads it") {
  CHECK(promoted("  accumulate B[3] = self + A[0] from 0.0f32 first []\n  accumulate B[3] = self * alpha from 0.0f32 "
                 "first []\n") == "B[3] = (B[3] + A[0]) * alpha\n");
  CHECK(promoted("  accumulate B[3] = self + A[0] from 0.0f32 first []\n  C[0, 0] = B[3]\n"
                 "  accumulate B[3] = self + A[1] from 0.0f32 first []\n") ==
        "block:\n  B[3] = B[3] + A[0]\n  C[0, 0] = B[3]\n  B[3] = B[3] + A[1]\n");
  CHECK(promoted("  B[3] = A[5]\n  accumulate B[3] = self + A[0] from 0.0f32 first []\n") == "B[3] = A[5] + A[0]\n");
}
TEST_CASE("in registers, updates of an unrolled reduction keep their order, or stand by element where fewer values are live") {
  auto const body = [](std::string const& first, std::string const& second, std::string const& third, std::string const& fourth) {
    std::string const rest = " from 0.0f32 first []\n";
    return promoted("  for k in 0..4:\n    accumulate B[0] = self + " + first + " from 0.0f32 first [k]\n    accumulate B[1] = self - " + second +
                    " from 0.0f32 first [k]\n    accumulate B[0] = self + " + third + rest + "    accumulate B[1] = self - " + fourth + rest);
  };
  auto const of = [](std::string const& steps) {
    return "allocate acc4, acc5:\n  acc4[] = 0.0f32\n  acc5[] = 0.0f32\n  for k in 0..4:\n" + steps + "  B[0] = acc4[]\n  B[1] = acc5[]\n";
  };
  // Each step reads one value for both elements: by element, both values would be live until the end.
  CHECK(body("A[k]", "A[k]", "A[k + 1]", "A[k + 1]") ==
        of("    acc4[] = acc4[] + A[k]\n    acc5[] = acc5[] - A[k]\n    acc4[] = acc4[] + A[k + 1]\n    acc5[] = acc5[] - A[k + 1]\n"));
  // Each element reads one value in both steps.
  CHECK(body("A[k]", "A[k + 1]", "A[k]", "A[k + 1]") ==
        of("    acc4[] = acc4[] + A[k]\n    acc4[] = acc4[] + A[k]\n    acc5[] = acc5[] - A[k + 1]\n    acc5[] = acc5[] - A[k + 1]\n"));
}
TEST_CASE("a parallel loop is no place for a register, loops inside it are") {
  std::string const text = promoted(
      "  for i in 0..8 parallel:\n    for k in 0..8:\n      accumulate B[i] = self + C[i, k] from 0.0f32 first [k]\n");
  CHECK(text.find("for i in 0..8 parallel:\n  allocate acc4:\n") == 0);
}
TEST_CASE("masked elements are read and written under their mask") {
  std::string const text = promoted(
      "  for l in 0..2:\n    for i in 0..8:\n      for k in 0..8:\n"
      "        accumulate B[i] = self + A[k] from 0.0f32 first [l, k] where i < n\n");
  INFO(text);
  CHECK(has(text, "B[i where not l == 0 and i < n]"));
  CHECK(has(text, "B[i] = acc4[] where i < n"));
}
TEST_CASE("an update is not moved in front of a store that it reads") {
  CHECK(promoted("  accumulate B[3] = self + A[0] from 0.0f32 first []\n  C[0, 0] = A[1]\n"
                 "  accumulate B[3] = self + C[0, 0] from 0.0f32 first []\n") ==
        "block:\n  B[3] = B[3] + A[0]\n  C[0, 0] = A[1]\n  B[3] = B[3] + C[0, 0]\n");
}
TEST_CASE("what is stored beside a sum, in other memory, leaves it in its register") {
  CHECK(promoted("  for k in 0..8:\n    B[k] = A[k]\n    accumulate C[0, 0] = self + B[k] from 0.0f32 first [k]\n") ==
        "allocate acc4:\n  acc4[] = 0.0f32\n  for k in 0..8:\n    B[k] = A[k]\n    acc4[] = acc4[] + B[k]\n  C[0, 0] = acc4[]\n");
  std::string const nested = promoted(
      "  for k in 0..8:\n    for j in 0..2:\n      if j < k:\n        B[k * 2 + j] = A[k]\n    accumulate C[0, 0] = self + B[k] from 0.0f32 first [k]\n");
  INFO(nested);
  CHECK(has(nested, "acc4[] = acc4[] + B[k]"));
  // Not where it writes or reads what the sum is kept in.
  for (char const* beside : {"C[0, k] = A[k]", "B[k] = C[0, 0]", "B[k] = A[k where C[0, k] < 1.0f32]"}) {
    std::string const text = promoted(std::string("  for k in 0..8:\n    ") + beside + "\n    accumulate C[0, 0] = self + A[k] from 0.0f32 first [k]\n");
    INFO(text);
    CHECK(!has(text, "acc4"));
  }
}
TEST_CASE("what is together meets in registers before any of it is stored") {
  CHECK(promoted("  together:\n    B[0] = C[0, 0]\n    C[0, 0] = B[0]\n") ==
        "allocate acc4, acc5:\n  acc4[] = C[0, 0]\n  acc5[] = B[0]\n  B[0] = acc4[]\n  C[0, 0] = acc5[]\n");
}
TEST_CASE("a reduction of two values keeps both in registers, and each update sees both as they were") {
  CHECK(promoted("  for k in 0..8:\n    together:\n"
                 "      accumulate B[3] = self + self<f32>(1) from 0.0f32 first [k]\n"
                 "      accumulate C[0, 0] = self * A[k] from 1.0f32 first [k]\n") ==
        "allocate acc4, acc5:\n  acc4[] = 0.0f32\n  acc5[] = 1.0f32\n  for k in 0..8:\n    allocate acc6, acc7:\n"
        "      acc6[] = acc4[] + acc5[]\n      acc7[] = acc4[] * A[k]\n      acc4[] = acc6[]\n      acc5[] = acc7[]\n"
        "  B[3] = acc4[]\n  C[0, 0] = acc5[]\n");
}
TEST_CASE("a loop that the reduction does not run over stays outside of the register, though no index tells of it") {
  std::string const text =
      promoted("  for j in 0..4:\n    for k in 0..8:\n      accumulate B[3] = self + A[k + j] from 0.0f32 first [k]\n");
  INFO(text);
  CHECK(text.find("for j") < text.find("allocate"));
}
