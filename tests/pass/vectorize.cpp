#include "weft/pass/vectorize.hpp"

#include <doctest/doctest.h>

#include "pass/text.hpp"
#include "weft/base/error.hpp"

namespace {
std::string vectorized(std::string const& body, int bytes) {
  return weft_test::from_text(body).after([&](weft::ir::function& f) { return weft::vectorize(f, f.body, bytes); });
}
bool has(std::string const& text, std::string const& part) {
  INFO(text);
  return text.find(part) != std::string::npos;
}
}  // namespace

TEST_CASE("a loop becomes as many chunks as its lanes need") {
  CHECK(vectorized("  for i in 0..32 vectorized:\n    B[i] = A[i] * alpha\n", 32) ==
        "for iv in 0..4 unrolled:\n  B[ramp(iv * 8, 1, 8)] = A[ramp(iv * 8, 1, 8)] * broadcast(alpha, 8)\n");
  CHECK(has(vectorized("  for i in 0..32 vectorized:\n    B[i] = A[i]\n", 64), "for iv in 0..2 unrolled:"));
  CHECK(has(vectorized("  for i in 0..32 vectorized:\n    B[i] = A[i]\n", 16), "for iv in 0..8 unrolled:"));
}
TEST_CASE("the widest element in the loop decides; indices do not count") {
  CHECK(has(vectorized("  for i in 0..32 vectorized:\n    B[i] = A[i] + cast<f32>(D[i])\n", 32), "ramp(iv * 4, 1, 4)"));
  CHECK(has(vectorized("  for i in 0..32 vectorized:\n    B[i] = A[i * 2 // 3]\n", 32), "ramp(iv * 8, 1, 8)"));
}
TEST_CASE("a short loop takes the next power of two, masked") {
  std::string const text = vectorized("  for i in 0..5 vectorized:\n    B[i] = A[i]\n", 64);
  CHECK(has(text, "ramp(iv * 8, 1, 8)"));
  CHECK(has(text, "B[ramp(iv * 8, 1, 8)] ="));
  CHECK(has(text, "where ramp(iv * 8, 1, 8) < 5i64x8"));
  CHECK_FALSE(has(vectorized("  for i in 0..4 vectorized:\n    B[i] = A[i]\n", 64), "where"));
}
TEST_CASE("a last chunk of half the lanes or less is a shorter vector, of 16 bytes at least") {
  std::string const text = vectorized("  for i in 0..53 vectorized:\n    B[i] = A[i]\n", 64);
  CHECK(has(text, "for iv in 0..3 unrolled:"));
  CHECK(has(text, "B[ramp(iv * 16, 1, 16)] = A[ramp(iv * 16, 1, 16)]\n"));
  CHECK(has(text, "B[ramp(48, 1, 8)] = A[ramp(48, 1, 8) where ramp(48, 1, 8) < 53i64x8] where ramp(48, 1, 8) < 53i64x8"));
  std::string const whole = vectorized("  for i in 0..40 vectorized:\n    B[i] = A[i]\n", 64);
  CHECK(has(whole, "B[ramp(32, 1, 8)] = A[ramp(32, 1, 8)]"));
  CHECK_FALSE(has(whole, "where"));
  CHECK(has(vectorized("  for i in 3..20 vectorized:\n    B[i] = A[i]\n", 64), "B[ramp(19, 1, 4)] = A[ramp(19, 1, 4) where ramp(19, 1, 4) < 20i64x4]"));
  CHECK(has(vectorized("  for i in 0..9 vectorized:\n    B[i] = A[i]\n", 16), "for iv in 0..3 unrolled:"));
}
TEST_CASE("lanes past the end neither read nor write") {
  std::string const text = vectorized("  for i in 0..13 vectorized:\n    B[i] = A[i] + A[63 - i where i < 9]\n", 32);
  CHECK(has(text, "for iv in 0..2 unrolled:"));
  CHECK(has(text, "A[ramp(iv * 8, 1, 8) where ramp(iv * 8, 1, 8) < 13i64x8]"));
  CHECK(has(text, "ramp(iv * 8, 1, 8) < 9i64x8 and ramp(iv * 8, 1, 8) < 13i64x8"));
}
TEST_CASE("what does not move with the loop is one value for all lanes; inner loops stay") {
  std::string const text = vectorized(
      "  for i in 0..8 vectorized:\n    for k in 0..64:\n"
      "      accumulate C[2, i] = fma(A[k], cast<f32>(D[i]), self) from 0.0f32 first [k]\n", 64);
  CHECK(has(text, "for k in 0..64:"));
  CHECK(has(text, "broadcast(A[k], 8)"));
  CHECK(has(text, "self"));
  CHECK(has(text, "first [k]"));
}
TEST_CASE("with vectors of one element the loop is unrolled as it stands") {
  CHECK(has(vectorized("  for i in 0..6 vectorized:\n    C[0, i] = cast<f32>(D[i])\n", 8), "for i in 0..6 unrolled:"));
}
TEST_CASE("a loop that begins elsewhere keeps its begin") {
  CHECK(has(vectorized("  for i in 3..11 vectorized:\n    B[i] = A[i]\n", 32), "B[ramp(3 + iv * 8, 1, 8)]"));
  CHECK(has(vectorized("  for i in 3..8 vectorized:\n    B[i] = A[i]\n", 32), "< 8i64x8"));
}
TEST_CASE("the counter of chunks has a name that no size or scalar of the call has") {
  weft::ir::arena m;
  weft::ir::function f = weft::ir::parse(m,
                                         "kernel k:\n  sizes iv\n  scalars ivv: f32\n  variables i\n"
                                         "  buffer B: f32[32] strides [1] in argument 0 written alias 0 align 4\n"
                                         "  for i in 0..32 vectorized:\n    B[i] = ivv\n");
  f.body = weft::vectorize(f, f.body, 32);
  CHECK(weft::ir::verify(f) == "");
  CHECK(has(weft::ir::print(f.body, f), "for ivvv in 0..4 unrolled:"));
}
TEST_CASE("an extent that is not a number is an internal_error, since the rule of vectorize keeps it out") {
  CHECK_THROWS_AS(vectorized("  for i in 0..n vectorized:\n    B[i] = A[i]\n", 32), weft::internal_error);
}
