#include "../programs.hpp"

#include <doctest/doctest.h>

using namespace weft_test;
using weft::diagnosis;
using weft::verdict;

namespace {
/// A map M that the output reads.
weft::program map_then_map() {
  weft::program p;
  weft::expr::tensor<float, 1> const x{&p, p.add_input(weft::short_name("x"), weft::dtype::f32, 1)};
  auto const M = weft::compute<"M">(x.extent(0), [=](auto i) { return x(i) + x(i); });
  auto const N = weft::compute<"N">(x.extent(0), [=](auto i) { return M(i) * M(i); });
  p.outputs.push_back(N.id);
  return weft::canonical(p);
}
weft::schedule inlined(weft::program const& p, int stage) {
  weft::schedule s(p, all_extents{8});
  s.compute_inline(weft::stage_handle<1>{stage, {}});
  return s;
}
}  // namespace

TEST_CASE("a map is inlined; a reduction, an output and what is no stage are not") {
  weft::program const maps = map_then_map(), sums = two_stages();
  CHECK(inlined(maps, 0).state == verdict::legal);
  CHECK(inlined(maps, 0).places[0].inlined);
  CHECK(inlined(maps, 1).steps[0].reason == diagnosis::an_output_is_computed_in_a_nest_of_its_own);
  CHECK(inlined(maps, 2).steps[0].reason == diagnosis::the_stage_is_none_of_this_schedule);
  CHECK(inlined(sums, 0).steps[0].reason == diagnosis::a_reduction_cannot_be_inlined__use_compute_at);
}
