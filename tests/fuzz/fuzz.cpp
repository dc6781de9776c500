// Random programs under random schedules: direct evaluation and the interpreter agree bit for bit.
#include "fuzz/run.hpp"

namespace weft_test::fuzz {

TEST_CASE("the interpreter gives the bits of direct evaluation, before the passes and after them") {
  run_cases("interpreted", 20000, check_interpreted);
}

TEST_CASE("no access that check_bounds accepts leaves its tensor") {
  int accepted = 0, open = 0, cases = 0;
  for_each_case("accesses", 10000, [&](std::uint64_t seed) { return ++cases, check_refusal(seed, accepted, open); });
  // With nearly all refused, or nearly none, it would say little.
  if (cases >= 1000) CHECK((accepted > cases / 10 && accepted < cases * 9 / 10));
  if (cases >= 1000) CHECK((open > cases / 20 && open < cases * 9 / 10));
}

TEST_CASE("a program that fails is made small, under its steps") {
  int found = 0;
  for (std::uint64_t seed = 1; seed < 400 && found < 5; ++seed) {
    drawn const d = program_maker(seed).make();
    random_source r(seed);
    weft::trace const steps = draw_steps(r, weft::schedule(d.what, extents_of(d)), d.order_free, {});
    // As if products of floats were wrong.
    auto const fails = [](drawn const& of, weft::trace const&) {
      for (weft::node const& n : of.what.nodes)
        if (n.kind == weft::op::mul && n.type == weft::dtype::f32) return true;
      return false;
    };
    if (!steps.empty() || d.what.stages.size() < 3 || d.what.nodes.size() < 60 || !fails(d, steps)) continue;
    ++found;
    shrinker small(d, steps);
    small.run(fails);
    INFO("seed " << seed << "\n" << describe(small.program(), small.steps()));
    CHECK(fails(small.program(), small.steps()));
    CHECK(small.program().what.outputs.size() == 1);
    CHECK(small.program().what.stages.size() == 1);
    CHECK(small.program().what.inputs.size() == 1);
    CHECK(small.program().tensors.size() == 1);
    CHECK(small.program().what.nodes.size() <= 5);
    CHECK(small.program().data == contents::tame);
    for (weft::dense const& t : small.program().tensors)
      for (std::int64_t e : t.shape) CHECK(e <= 1);
  }
  CHECK(found == 5);
}

}  // namespace weft_test::fuzz
