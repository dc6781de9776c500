// The identity of a reduction in a nest of its own.
#include <doctest/doctest.h>

#include "lower/programs.hpp"
#include "support/golden.hpp"
#include "weft/ir/parse.hpp"
#include "weft/pass/pipeline.hpp"

using namespace weft;
using weft_test::lowered_program;

namespace {
/// Blocks of k around tiles of C, as a matmul that is blocked for caches.
void blocked(schedule& s) {
  auto const C = handle_of<3, 2>(s, 0);
  auto const [i, j, k] = C.axes();
  auto const [ko, ki] = s.split(k, 4);
  auto const [jo, ji] = s.split(j, 8);
  s.reorder(i, ko, jo, ki, ji);
  s.vectorize(ji);
  s.decompose_reduction(C, ko);
}
}  // namespace

TEST_CASE("decompose_reduction: stores in front, and no tile asks whether its terms are the first") {
  lowered_program l{weft_test::matmul(), {{3, 10}, {10, 20}}};
  ir::function f = l([](schedule& s, auto const&) { blocked(s); });
  weft_test::check_golden("lower/identity_in_front.ir", ir::print(f));
  ir::arena again;
  CHECK(ir::print(ir::parse(again, ir::print(f))) == ir::print(f));
  run_passes(f, {32, true}, {});
  CHECK(weft_test::body(f).find("select") == std::string::npos);
}
TEST_CASE("decompose_reduction: of no terms at all, one store is left") {
  lowered_program l{weft_test::matmul(), {{3, 0}, {0, 16}}};
  std::string const text = weft_test::body(l([](schedule& s, auto const&) { blocked(s); }));
  CHECK(text.find("C[") == text.rfind("C["));
}
