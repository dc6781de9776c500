// labels: long
// f32 functions of one operand over all floats. One core of an EPYC (Milan), 2026-11-21: 9 minutes, with fma 20 to 75 s a
// function.
#include <doctest/doctest.h>

#include <cmath>

#include "expr/math/all_floats.hpp"
#include "expr/math/bounds.hpp"
#include "weft/compile.hpp"

namespace {
using namespace weft_test;

void check_all_floats(weft::target const& machine, std::uint64_t stride) {
  for (math_function const& f : math_functions) {
    if (weft::arity(f.o) != 1) continue;
    worst_error const w = all_floats(f.o, machine)(stride);
    MESSAGE(weft::name(f.o), ": ", w.ulp, " ulp at ", w.at);
    INFO(weft::name(f.o));
    CHECK(w.ulp <= (machine.fma ? f.f32.fused : f.f32.plain));
    // The table says no more than was found.
    if (machine.fma && stride == 1) CHECK(w.ulp > f.f32.fused - 0.00101);
  }
}

}  // namespace

TEST_CASE("all floats: f32 functions are as near to the truth as docs/math.md says, with fma") {
  if (weft::host().fma) check_all_floats(weft::host(), 1);
  else MESSAGE("[skip] no fma here");
}
TEST_CASE("an eighth of all floats: the same without fma") {
  weft::target machine = weft::host();
  machine.fma = false;
  check_all_floats(machine, 8);
}
