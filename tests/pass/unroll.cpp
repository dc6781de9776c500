#include "weft/pass/unroll.hpp"

#include <doctest/doctest.h>

#include "pass/text.hpp"
#include "weft/base/error.hpp"

namespace {
std::string unrolled(std::string const& body) {
  return weft_test::from_text(body).after([](weft::ir::function& f) { return weft::unroll(*f.nodes, f.body); });
}
}  // namespace

TEST_CASE("copies stand one after the other, each with its number") {
  CHECK(unrolled("  for i in 0..3 unrolled:\n    B[i] = A[i]\n") ==
        "block:\n  B[0] = A[0]\n  B[1] = A[1]\n  B[2] = A[2]\n");
  CHECK(unrolled("  for i in 2..4 unrolled:\n    B[i] = A[i]\n") == "block:\n  B[2] = A[2]\n  B[3] = A[3]\n");
  CHECK(unrolled("  for i in 0..1 unrolled:\n    B[i] = A[i]\n") == "B[0] = A[0]\n");
}
TEST_CASE("copies are jammed into a loop inside, and into branches that do not depend on them") {
  CHECK(unrolled("  for i in 0..2 unrolled:\n    for k in 0..64:\n      C[i, k] = A[k]\n") ==
        "for k in 0..64:\n  C[0, k] = A[k]\n  C[1, k] = A[k]\n");
  CHECK(unrolled("  for i in 0..2 unrolled:\n    if n < 7:\n      B[i] = 0.0f32\n    else:\n      B[i] = 1.0f32\n") ==
        "if n < 7:\n  B[0] = 0.0f32\n  B[1] = 0.0f32\nelse:\n  B[0] = 1.0f32\n  B[1] = 1.0f32\n");
}
TEST_CASE("a loop whose bounds depend on the copies is copied whole") {
  CHECK(unrolled("  for i in 0..2 unrolled:\n    for k in 0..i + 1:\n      C[i, k] = A[k]\n") ==
        "block:\n  for k in 0..1:\n    C[0, k] = A[k]\n  for k in 0..2:\n    C[1, k] = A[k]\n");
}
TEST_CASE("two loops of one reduction are not jammed: the order of the terms would change") {
  CHECK(unrolled("  for i in 0..2 unrolled:\n    for k in 0..8:\n"
                 "      accumulate B[0] = self + C[i, k] from 0.0f32 first [i, k]\n") ==
        "block:\n  for k in 0..8:\n    accumulate B[0] = self + C[0, k] from 0.0f32 first [k]\n"
        "  for k in 0..8:\n    accumulate B[0] = self + C[1, k] from 0.0f32 first []\n");
  CHECK(unrolled("  for i in 0..2 unrolled:\n    for k in 0..8:\n"
                 "      accumulate B[i] = self + C[i, k] from 0.0f32 first [k]\n") ==
        "for k in 0..8:\n  accumulate B[0] = self + C[0, k] from 0.0f32 first [k]\n"
        "  accumulate B[1] = self + C[1, k] from 0.0f32 first [k]\n");
}
TEST_CASE("a loop over terms of the same element is not jammed, whether or not it may begin the sum") {
  CHECK(unrolled("  for i in 0..2 unrolled:\n    for k in 0..8:\n"
                 "      accumulate B[0] = self + C[i, k] from 0.0f32 first []\n") ==
        "block:\n  for k in 0..8:\n    accumulate B[0] = self + C[0, k] from 0.0f32 first []\n"
        "  for k in 0..8:\n    accumulate B[0] = self + C[1, k] from 0.0f32 first []\n");
}
TEST_CASE("only the first copy of an unrolled reduction can be the first iteration") {
  CHECK(unrolled("  for k in 0..3 unrolled:\n    accumulate B[0] = self + A[k] from 0.0f32 first [k]\n") ==
        "block:\n  B[0] = 0.0f32 + A[0]\n  accumulate B[0] = self + A[1] from 0.0f32 first []\n"
        "  accumulate B[0] = self + A[2] from 0.0f32 first []\n");
  CHECK(unrolled("  for l in 0..4:\n    for k in 0..2 unrolled:\n"
                 "      accumulate B[0] = self + C[k, l] from 0.0f32 first [l, k]\n") ==
        "for l in 0..4:\n  accumulate B[0] = self + C[0, l] from 0.0f32 first [l]\n"
        "  accumulate B[0] = self + C[1, l] from 0.0f32 first []\n");
}
TEST_CASE("nested unrolled loops are written out in the order of the loops") {
  CHECK(unrolled("  for i in 0..2 unrolled:\n    for j in 0..2 unrolled:\n      C[i, j] = A[j]\n") ==
        "block:\n  C[0, 0] = A[0]\n  C[0, 1] = A[1]\n  C[1, 0] = A[0]\n  C[1, 1] = A[1]\n");
}
TEST_CASE("an extent that is not a number is an internal_error, since the rule of unroll keeps it out") {
  CHECK_THROWS_AS(unrolled("  for i in 0..n unrolled:\n    B[i] = A[i]\n"), weft::internal_error);
}
