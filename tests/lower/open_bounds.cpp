#include "weft/lower/open_bounds.hpp"

#include <doctest/doctest.h>

#include "lower/programs.hpp"
#include "weft/expr/boundary.hpp"
#include "weft/ir/print.hpp"

using namespace weft;
using weft_test::lowered_program;

namespace {

/// What is left to ask of the sizes of B[i] = body(A, D, i), i in 0..A.extent(0), where A has n and D has m elements.
template <class Extent, class Body>
std::string asked(Extent const& extent, Body const& body) {
  program p;
  expr::tensor<float, 1> const a{&p, p.add_input(short_name("A"), dtype::f32, 1)};
  expr::tensor<float, 1> const d{&p, p.add_input(short_name("D"), dtype::f32, 1)};
  auto const y = compute<"B">(extent(a, d), [=](auto i) { return body(a, d, i) + a(0) * d(0); });
  p.outputs.push_back(y.id);
  lowered_program l{canonical(p), {{40}, {30}}};
  l.dims = {{"n"}, {"m"}};
  ir::function const f = l.plain();
  open_conditions const c = conditions_of(f);
  std::string out = c.complete ? "" : "incomplete ";
  for (ir::expr e : c.lengths) out += "length " + ir::print(e, f) + "; ";
  for (ir::expr e : c.accesses) out += ir::print(e, f) + "; ";
  return out;
}
template <class Body>
std::string asked(Body const& body) {
  return asked([](auto a, auto) { return a.extent(0); }, body);
}

}  // namespace

TEST_CASE("what holds for all sizes from 1 on is not asked at a call") {
  CHECK(asked([](auto a, auto, auto i) { return a(i); }) == "");
  CHECK(asked([](auto a, auto, auto i) { return a(a.extent(0) - 1 - i); }) == "");
  CHECK(asked([](auto a, auto, auto i) { return a(i / 3) + a(i * 3 - i * 2); }) == "");
  CHECK(asked([](auto a, auto, auto i) { return a(clamp(i - 3, 0, a.extent(0) - 1)); }) == "");
  CHECK(asked([](auto, auto d, auto i) { return d(clamp(i * 5, 0, d.extent(0) - 1)); }) == "");
  CHECK(asked([](auto, auto d, auto i) { return d(i % d.extent(0)); }) == "");
  CHECK(asked([](auto a, auto, auto i) { return select(i + 3 < a.extent(0), a(i + 3), 0.0f); }) == "");
  CHECK(asked([](auto, auto d, auto i) { return select(i < d.extent(0), d(i), 0.0f); }) == "");
  CHECK(asked([](auto a, auto, auto i) { return select(i >= 2 && i + 1 < a.extent(0), a(i - 2) + a(i + 1), 0.0f); }) == "");
}
TEST_CASE("borders by name ask for nothing") {
  CHECK(asked([](auto a, auto, auto i) { return constant_exterior(a, 0)(i - 2) + constant_exterior(a, 0)(i + 2); }) == "");
  CHECK(asked([](auto a, auto d, auto i) { return repeat_edge(a)(i - 2) + repeat_edge(d)(i + 2); }) == "");
  CHECK(asked([](auto a, auto d, auto i) { return wrap(a)(i - 2) + wrap(d)(i + 2); }) == "");
  CHECK(asked([](auto a, auto d, auto i) { return mirror(a)(i - 2) + mirror(d)(i + 2); }) == "");
  CHECK(asked([](auto a, auto d, auto i) { return reflect(a)(i - 2) + reflect(d)(i + 2); }) == "");
}
TEST_CASE("relations between sizes, and of sizes to numbers, are asked") {
  CHECK(asked([](auto, auto d, auto i) { return d(i); }) == "n * -1 + m; ");
  CHECK(asked([](auto, auto d, auto i) { return d(i + 2); }) == "n * -1 + m + -2; ");
  CHECK(asked([](auto a, auto, auto i) { return a(i % 7); }) == "n + -7; ");
  CHECK(asked([](auto a, auto, auto) { return a(5); }) == "n + -6; ");
  CHECK(asked([](auto a, auto, auto i) { return a(i + 1); }) == "-1; ");  // never
  CHECK(asked([](auto a, auto, auto i) { return a(i - 1); }) == "-1; ");
}
TEST_CASE("a loop runs at least once, or the call is another's") {
  auto const valid = [](auto a, auto d) { return a.extent(0) - d.extent(0) + 1; };
  CHECK(asked(valid, [](auto a, auto d, auto i) { return a(i + d.extent(0) - 1) + a(i); }) == "length n + m * -1; ");
  CHECK(asked([](auto a, auto) { return a.extent(0) / 2; }, [](auto a, auto, auto i) { return a(i * 2 + 1); }) ==
        "length n // 2 + -1; ");
  CHECK(asked([](auto, auto) { return 8; }, [](auto a, auto, auto i) { return a(i); }) == "n + -8; ");
}
