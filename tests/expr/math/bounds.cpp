// The bounds that docs/math.md shows, and what is promised of them.
#include "expr/math/bounds.hpp"

#include <doctest/doctest.h>

#include <cstdio>
#include <string>

#include "support/golden.hpp"

namespace {
using weft::op;
using namespace weft_test;

std::string number(double ulp) {
  char text[20];
  std::snprintf(text, sizeof text, ulp == 0.5 || ulp == 0 ? "%g" : "%.4g", ulp);
  return text;
}
std::string cell(math_function const& f, bound const& b) {
  if (f.o == op::sqrt) return "0.5";
  if (b.fused == 0 && b.plain == 0) return "exact";
  return b.fused == b.plain ? number(b.fused) : number(b.fused) + ", " + number(b.plain);
}
}  // namespace

TEST_CASE("docs/math.md shows the bounds as they are tested") {
  std::string out = "| function | f32: ulp with fma, without | f64 | f32, with fma, is worst at | special values |\n";
  out += "|---|---|---|---|---|\n";
  for (math_function const& f : math_functions) {
    std::string const name(f.o == op::rem ? "fmod" : weft::name(f.o));
    char at[40] = "";
    if (f.worst != 0) std::snprintf(at, sizeof at, "%.9g", static_cast<double>(f.worst));
    out += "| `" + name + "` | " + cell(f, f.f32) + " | " + cell(f, f.f64) + " | " + at + " | " + f.edges + " |\n";
  }
  check_section("docs/math.md", "accuracy", out);
}
TEST_CASE("exp, log, tanh, erf, sin and cos of f32 are within 1 ulp") {
  for (math_function const& f : math_functions)
    for (op const o : {op::exp, op::log, op::tanh, op::erf, op::sin, op::cos})
      if (f.o == o) {
        CHECK(f.f32.fused <= 1);
        CHECK(f.f32.plain <= 1);
      }
}
TEST_CASE("every math function has a bound") {
  for (int n = 0; n < weft::op_count; ++n) {
    auto const o = static_cast<op>(n);
    if (!weft::is_math(o, weft::dtype::f32) || o == op::copysign) continue;
    int found = 0;
    for (math_function const& f : math_functions) found += f.o == o;
    INFO(weft::name(o));
    CHECK(found == 1);
  }
}
