#include "weft/pass/known_elements.hpp"

#include <doctest/doctest.h>

#include "pass/text.hpp"

namespace {
std::string known(std::string const& body) {
  return weft_test::from_text(body).after([](weft::ir::function& f) { return weft::known_elements(f, f.body); });
}
}  // namespace

TEST_CASE("memory to which one number alone is stored is not read") {
  CHECK(known("  for i in 0..64:\n    B[i] = 0.5f32\n  for i in 0..64:\n    C[0, i] = A[i] + B[i]\n") ==
        "block:\n  for i in 0..64:\n    B[i] = 0.5f32\n  for i in 0..64:\n    C[0, i] = A[i] + 0.5f32\n");
  CHECK(known("  for i in 0..64:\n    if i < 5:\n      B[i] = 0.5f32\n    else:\n      B[i] = 0.5f32\n  for i in 0..64:\n    C[0, i] = B[63 - i]\n") ==
        "block:\n  for i in 0..64:\n    if i < 5:\n      B[i] = 0.5f32\n    else:\n      B[i] = 0.5f32\n  for i in 0..64:\n    C[0, i] = 0.5f32\n");
}
TEST_CASE("nor are vectors of it") {
  CHECK(known("  B[ramp(0, 1, 32)] = 0.5f32x32\n  B[ramp(32, 1, 32)] = 0.5f32x32\n  C[1, ramp(0, 1, 8)] = B[ramp(3, 1, 8)]\n") ==
        "block:\n  B[ramp(0, 1, 32)] = 0.5f32x32\n  B[ramp(32, 1, 32)] = 0.5f32x32\n  C[1, ramp(0, 1, 8)] = 0.5f32x8\n");
}
TEST_CASE("a masked load of it is 0 where its mask is false") {
  CHECK(known("  for i in 0..64:\n    B[i] = 0.5f32\n  for i in 0..64:\n    C[0, i] = B[i where i < 7]\n") ==
        "block:\n  for i in 0..64:\n    B[i] = 0.5f32\n  for i in 0..64:\n    C[0, i] = select(i < 7, 0.5f32, 0.0f32)\n");
}
TEST_CASE("memory that is written in another way, too, or by the caller, stays as it is") {
  for (char const* body : {"  for i in 0..64:\n    B[i] = 0.5f32\n  for i in 0..64:\n    if i < 5:\n      B[i] = 1.5f32\n  for i in 0..64:\n    C[0, i] = B[i]\n",
                           "  for i in 0..64:\n    B[i] = 0.5f32\n  for i in 0..64:\n    if i < 5:\n      B[i] = A[i]\n  for i in 0..64:\n    C[0, i] = B[i]\n",
                           "  for i in 0..64:\n    B[i] = 0.5f32\n  for i in 0..64:\n    accumulate B[0] = self + A[i] from 0.0f32 first []\n  for i in 0..64:\n    C[0, i] = B[i]\n",
                           "  for i in 0..64:\n    B[i] = 0.0f32\n  for i in 0..64:\n    B[i] = -0.0f32\n  for i in 0..64:\n    C[0, i] = B[i]\n",
                           "  for i in 0..64:\n    C[0, i] = A[i]\n"}) {
    weft_test::from_text t(body);
    CHECK(weft::known_elements(t.f, t.f.body) == t.f.body);
  }
}
