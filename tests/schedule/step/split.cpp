#include "../programs.hpp"

#include <doctest/doctest.h>

#include "weft/schedule/print.hpp"

using namespace weft_test;
using weft::diagnosis;
using weft::verdict;

TEST_CASE("split keeps every index exactly once, in the same order") {
  weft::program const p = two_stages();
  for (std::int64_t extent : {0, 1, 5, 7, 8, 24})
    for (std::int64_t factor : {1, 2, 3, 8, 100}) {
      CAPTURE(extent);
      CAPTURE(factor);
      weft::schedule s(p, all_extents{extent});
      auto const before = points(s, 0);
      auto const [io, ii] = s.split(weft::axis{s.order[0][0]}, factor);
      CHECK(points(s, 0) == before);
      auto const [ioo, ioi] = s.split(io, 2);
      s.split(ii, 3);
      CHECK(points(s, 0) == before);
      CHECK(ioo.id >= 0);
      CHECK(ioi.id >= 0);
      CHECK(s.state == verdict::legal);
    }
}

TEST_CASE("split names its parts and puts them where the axis stood") {
  weft::program const p = matmul();
  weft::schedule s(p, all_extents{100});
  auto const [jo, ji] = s.split(weft::axis{s.order[0][1]}, 16);
  CHECK(loop_names(s, 0) == "i jo ji k");
  CHECK(s.at(jo.id).extent == 7);
  CHECK(s.at(ji.id).extent == 16);
  auto const [jio, jii] = s.split(ji, 4);
  CHECK(loop_names(s, 0) == "i jo jio jii k");
  CHECK(s.at(jii.id).root == s.order[0][0] + 1);
  CHECK(s.at(jio.id).reduced == false);
}

TEST_CASE("split of an extent that is not known: the outer part is unknown, the inner one the factor") {
  weft::program const p = matmul();
  weft::schedule s(p, all_extents{});
  auto const [ko, ki] = s.split(weft::axis{s.order[0][2]}, 8);
  CHECK(s.at(ko.id).extent == -1);
  CHECK(s.at(ki.id).extent == 8);
  CHECK(s.at(ki.id).reduced);
}

TEST_CASE("split with the largest factor does not overflow") {
  constexpr std::int64_t largest = std::int64_t(1) << 40;
  weft::program const p = matmul();
  weft::schedule s(p, all_extents{5});
  auto const [io, ii] = s.split(weft::axis{s.order[0][0]}, largest);
  CHECK(s.at(io.id).extent == 1);
  CHECK(s.at(ii.id).extent == 5);
}

constexpr auto splits_twice = [](auto& s, auto i, auto, auto) {
  s.split(i, 4);
  s.split(i, 2);
};
constexpr auto splits_by_zero = [](auto& s, auto i, auto, auto) { s.split(i, 0); };
constexpr auto splits_a_marked_axis = [](auto& s, auto i, auto, auto) {
  s.parallel(i);
  s.split(i, 4);
};
constexpr auto splits_nothing = [](auto& s, auto, auto, auto) { s.split(weft::axis{}, 4); };
constexpr auto splits_a_wrong_axis = [](auto& s, auto, auto, auto) { s.split(weft::axis{99}, 4); };
constexpr auto splits_well = [](auto& s, auto i, auto, auto k) {
  auto const [ko, ki] = s.split(k, 4);
  s.split(i, 1);
  s.split(ko, 3);
  s.split(ki, 2);
};

static_assert(is(judge_matmul(-1, splits_well), verdict::legal));
static_assert(is(judge_matmul(-1, splits_twice), verdict::illegal, diagnosis::the_axis_was_split_already));
static_assert(is(judge_matmul(-1, splits_by_zero), verdict::illegal, diagnosis::a_factor_must_be_at_least_1));
static_assert(is(judge_matmul(-1, splits_a_marked_axis), verdict::illegal,
                 diagnosis::the_axis_is_unrolled_vectorized_or_parallel_already));
static_assert(is(judge_matmul(-1, splits_nothing), verdict::illegal,
                 diagnosis::the_axis_belongs_to_no_stage_of_this_schedule));

TEST_CASE("split rules at run time as in the compiler") {
  for (std::int64_t extent : {-1, 0, 1, 64}) {
    CAPTURE(extent);
    CHECK(is(judge_matmul(extent, splits_well), verdict::legal));
    CHECK(is(judge_matmul(extent, splits_twice), verdict::illegal, diagnosis::the_axis_was_split_already));
    CHECK(is(judge_matmul(extent, splits_by_zero), verdict::illegal, diagnosis::a_factor_must_be_at_least_1));
    CHECK(is(judge_matmul(extent, splits_a_wrong_axis), verdict::illegal,
             diagnosis::the_axis_belongs_to_no_stage_of_this_schedule));
  }
}

TEST_CASE("an illegal split hands out poisoned axes, changes nothing and is the last step") {
  weft::program const p = matmul();
  weft::schedule s(p, all_extents{64});
  weft::axis const i{s.order[0][0]};
  auto const [io, ii] = s.split(i, -1);
  CHECK(io.id == -1);
  CHECK(ii.id == -1);
  CHECK(s.failed == 0);
  CHECK(loop_names(s, 0) == "i j k");
  s.unroll(ii);
  s.parallel(i);  // legal by itself, but passed over
  CHECK(s.steps.size() == 1);
  CHECK(s.at(i.id).kind == weft::loop_kind::serial);
  CHECK(s.state == verdict::illegal);
}

// --- what becomes of the last part ------------------------------------------------------------------------------

TEST_CASE("a split's tail is a word of its trace; a guard, which needs none, is not printed") {
  weft::program const p = matmul();
  weft::schedule s(p, all_extents{13});
  weft::axis i{s.order[0][0]}, j{s.order[0][1]}, k{s.order[0][2]};
  s.split(i, 8, weft::tail::shift_inwards);
  s.split(j, 4, weft::tail::guard);
  auto const [ko, ki] = s.split(k, 4, weft::tail::partition);
  s.split(ki, 3, weft::tail::mask);
  static_cast<void>(ko);
  std::string const text =
      "C: split(i, 8, shift_inwards) -> io, ii\nC: split(j, 4) -> jo, ji\nC: split(k, 4, partition) -> ko, ki\n"
      "C: split(ki, 3, mask) -> kio, kii\n";
  CHECK(weft::print_trace(s) == text);
  weft::schedule const fresh(p, all_extents{13});
  CHECK(weft::parse_trace(text, fresh) == s.steps);
  CHECK(weft::parse_trace("C: split(j, 4, guard)", fresh) == weft::parse_trace("C: split(j, 4)", fresh));
  CHECK(weft::hash(weft::parse_trace("C: split(j, 4, mask)", fresh)) != weft::hash(weft::parse_trace("C: split(j, 4)", fresh)));
  CHECK(weft::print_loops(s).find("i = min(io*8, 13 - 8) + ii") != std::string::npos);
  CHECK_THROWS_WITH_AS(weft::parse_trace("C: split(j, 4, wrap)", fresh), "trace:1:20: this step does not know the word",
                       weft::parse_error);
  CHECK_THROWS_AS(weft::parse_trace("C: unroll(j, mask)", fresh), weft::parse_error);
}
TEST_CASE("the last part of a reduction is not shifted, and the words say what to do") {
  weft::program const p = matmul();
  weft::schedule s(p, all_extents{13});
  s.split(weft::axis{s.order[0][2]}, 8, weft::tail::shift_inwards);
  CHECK(s.steps[0].reason == diagnosis::the_last_part_of_a_reduction_cannot_be_shifted_inwards);
  CHECK(weft::explain(s, "k") ==
        "split: the last part of a reduction axis cannot be shifted inwards: some terms would be added twice\n"
        "  in    schedule of k, step 1: C: split(k, 8, shift_inwards)\n"
        "  nest  i(13) > j(13) > k(13)\n"
        "                        ^\n"
        "  try   tail::guard, mask or partition for this axis");
  weft::schedule t(p, all_extents{13});
  weft::step one{weft::verb::split, 1, {0}, 4};
  one.word = 9;
  CHECK_FALSE(weft::replay(t, weft::trace(1, one)));
}

TEST_CASE("split: parts of more than 2^40 are refused, also by splits around each other") {
  weft::program const p = matmul();
  auto const why = [&](std::int64_t first, std::int64_t second, bool of_outer) {
    weft::schedule s(p, [](int, int) { return weft::open_extent; });
    auto const parts = s.split(weft::axis{0}, first);
    s.split(parts[of_outer ? 0 : 1], second);
    return s.failed < 0 ? diagnosis::none : s.steps[static_cast<std::size_t>(s.failed)].reason;
  };
  std::int64_t const most = std::int64_t(1) << 40;
  CHECK(why(most, 1, true) == diagnosis::none);
  CHECK(why(most, most, false) == diagnosis::none);
  CHECK(why(1 << 20, 1 << 20, true) == diagnosis::none);
  for (std::int64_t factor : {most + 1, std::int64_t(1) << 61, INT64_MAX})
    CHECK(why(factor, 1, true) == diagnosis::parts_of_an_axis_are_at_most_2_to_the_40_long);
  CHECK(why(1 << 20, (1 << 20) + 1, true) == diagnosis::parts_of_an_axis_are_at_most_2_to_the_40_long);
  CHECK(why(2, INT64_MAX, true) == diagnosis::parts_of_an_axis_are_at_most_2_to_the_40_long);
}

// --- several parts at once --------------------------------------------------------------------------------------

TEST_CASE("split in several parts: the factors from the innermost one on; what remains is the outermost") {
  weft::program const p = matmul();
  weft::schedule several(p, all_extents{100}), by_hand(p, all_extents{100});
  auto const [a, b, c] = several.split(weft::axis{0}, 4, 8);
  auto const [ab, inner] = by_hand.split(weft::axis{0}, 8);
  auto const [outer, middle] = by_hand.split(ab, 4);
  CHECK(several.steps == by_hand.steps);
  CHECK(a.id == outer.id);
  CHECK(b.id == middle.id);
  CHECK(c.id == inner.id);
  CHECK(several.at(a.id).extent == 4);
  CHECK(several.at(b.id).extent == 4);
  CHECK(several.at(c.id).extent == 8);
  CHECK(loop_names(several, 0) == "ioo ioi ii j k");
  CHECK(several.split(weft::axis{1}, 2, 2, 2, std::int64_t(2)).size() == 5);
  CHECK(several.split(weft::axis{2}, 2, 0)[0].id == -1);
}
TEST_CASE("unroll, vectorize and parallel of a part: a split and a mark") {
  weft::program const p = matmul();
  weft::schedule s(p, all_extents{100});
  weft::axis i{s.order[0][0]}, j{s.order[0][1]}, k{s.order[0][2]};
  auto const [io, ii] = s.parallel(i, 16);
  auto const [jo, ji] = s.vectorize(j, 8, weft::tail::mask);
  auto const [ko, ki] = s.unroll(k, 4);
  CHECK(weft::print_trace(s) ==
        "C: split(i, 16) -> io, ii\nC: parallel(io)\nC: split(j, 8, mask) -> jo, ji\nC: vectorize(ji)\n"
        "C: split(k, 4) -> ko, ki\nC: unroll(ki)\n");
  CHECK(s.at(io.id).kind == weft::loop_kind::parallel);
  CHECK(s.at(ji.id).kind == weft::loop_kind::vectorized);
  CHECK(s.at(ki.id).kind == weft::loop_kind::unrolled);
  for (weft::axis one : {ii, jo, ko}) CHECK(s.at(one.id).kind == weft::loop_kind::serial);
}
constexpr auto splits_and_marks = [](auto& s, auto i, auto j, auto k) {
  auto const [a, b, c] = s.split(i, 4, 8);
  s.vectorize(j, 16);
  s.unroll(k, 4);
  s.parallel(a);
  s.reorder(c, b);
};
constexpr auto vectorizes_a_reduction = [](auto& s, auto, auto, auto k) { s.vectorize(k, 8); };
constexpr auto shifts_a_reduction = [](auto& s, auto, auto, auto k) { s.unroll(k, 8, weft::tail::shift_inwards); };
static_assert(is(judge_matmul(-1, splits_and_marks), verdict::legal));
static_assert(judge_matmul(-1, splits_and_marks).steps == 8);
static_assert(is(judge_matmul(-1, vectorizes_a_reduction), verdict::illegal,
                 diagnosis::a_reduction_axis_cannot_be_vectorized__use_rfactor));
static_assert(judge_matmul(-1, shifts_a_reduction).state == verdict::illegal);

TEST_CASE("what cannot be rounded up, and why") {
  weft::program const p = two_stages();
  struct {
    void (*steps)(weft::schedule&);
    diagnosis why;
  } const cases[] = {
      {[](weft::schedule& s) { s.split(weft::axis{s.order[0][0]}, 8, weft::tail::round_up); }, diagnosis::none},
      {[](weft::schedule& s) { s.split(weft::axis{s.order[0][1]}, 8, weft::tail::round_up); },
       diagnosis::an_axis_of_an_output_or_of_a_reduction_cannot_be_rounded_up},
      {[](weft::schedule& s) { s.split(weft::axis{s.order[1][0]}, 8, weft::tail::round_up); },
       diagnosis::an_axis_of_an_output_or_of_a_reduction_cannot_be_rounded_up},
      {[](weft::schedule& s) { s.split(s.split(weft::axis{s.order[0][0]}, 8)[1], 3, weft::tail::round_up); },
       diagnosis::a_part_of_an_axis_cannot_be_rounded_up__round_up_the_whole_axis_first},
  };
  for (auto const& c : cases) {
    weft::schedule s(p, all_extents{13});
    c.steps(s);
    CHECK(s.steps.back().reason == c.why);
    if (c.why != diagnosis::none) CHECK(explain(s, "k").find("\n  try   ") != std::string::npos);
    else CHECK(weft::print_trace(s) == "C: split(i, 8, round_up) -> io, ii\n");
  }
}
