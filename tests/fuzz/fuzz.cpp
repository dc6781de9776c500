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

namespace {
weft::sequence<weft::dense> results_of(drawn const& d) {
  weft::program const expanded = weft::expand(d.what, false);
  weft::evaluator e(expanded, d.tensors, d.scalars);
  weft::sequence<weft::dense> all;
  for (std::int32_t t : d.what.outputs) all.push_back(e.result(t));
  return all;
}
}  // namespace
TEST_CASE("stages, results and inputs that nothing reads are taken out, and all results stay") {
  int stages = 0, results = 0, inputs = 0;
  for (std::uint64_t seed = 1; seed < 400; ++seed) {
    drawn const d = program_maker(seed).make();
    weft::sequence<weft::dense> const before = results_of(d);
    auto const check = [&](int& count, auto const& change) {
      drawn less = d;
      change(less);
      less.what = weft::canonical(less.what);
      INFO("seed " << seed << "\n" << weft::print(d.what) << weft::print(less.what));
      if (weft::digest(less.what) == weft::digest(d.what)) return;
      ++count;
      REQUIRE(weft::fault_of(less.what) == "");
      weft::sequence<weft::dense> const after = results_of(less);
      REQUIRE(after.size() == before.size());
      for (std::size_t i = 0; i < after.size(); ++i) CHECK((after[i].shape == before[i].shape && after[i].bits == before[i].bits));
    };
    for (int s = 0; s < static_cast<int>(d.what.stages.size()); ++s) check(stages, [&](drawn& less) { without_stage(less.what, s); });
    for (int r = 0; r < static_cast<int>(d.what.results.size()); ++r) check(results, [&](drawn& less) { without_result(less.what, r); });
    for (std::size_t i = 0; i < d.what.inputs.size(); ++i) check(inputs, [&](drawn& less) { without_input(less, i); });
  }
  CHECK((stages > 50 && results > 20 && inputs > 20));
}
TEST_CASE("axes and dimensions are taken out of what has them, and leave sound programs") {
  int axes = 0, dimensions = 0;
  for (std::uint64_t seed = 1; seed < 200; ++seed) {
    drawn const d = program_maker(seed).make();
    auto const check = [&](int& count, auto const& change) {
      drawn less = d;
      change(less);
      less.what = weft::canonical(less.what);
      if (weft::digest(less.what) == weft::digest(d.what) || !weft::fault_of(less.what).empty()) return;
      try {
        static_cast<void>(results_of(less));
        ++count;
      } catch (weft::error const&) {  // at 0 of what is empty: said, as of any access outside
      }
    };
    for (int a = 0; a < static_cast<int>(d.what.axes.size()); ++a) check(axes, [&](drawn& less) { without_axis(less.what, a); });
    for (std::size_t t = 0; t < d.tensors.size(); ++t)
      for (std::size_t dim = 0; dim < d.tensors[t].shape.size(); ++dim) check(dimensions, [&](drawn& less) { without_dimension(less, t, dim); });
  }
  CHECK((axes > 200 && dimensions > 100));
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
