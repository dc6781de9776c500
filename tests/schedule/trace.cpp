#include <doctest/doctest.h>

#include "programs.hpp"
#include "weft/schedule/print.hpp"

using namespace weft_test;
using weft::axis;
using weft::verdict;

namespace {
bool same_nest(weft::nest const& a, weft::nest const& b) {
  if (a.order != b.order || a.loops.size() != b.loops.size()) return false;
  for (std::size_t i = 0; i < a.loops.size(); ++i) {
    weft::loop_info const &x = a.loops[i], &y = b.loops[i];
    if (x.stage != y.stage || x.root != y.root || x.parent != y.parent || x.outer != y.outer || x.inner != y.inner ||
        x.factor != y.factor || x.into != y.into || x.next != y.next || x.first != y.first ||
        x.extent != y.extent || x.kind != y.kind || x.reduced != y.reduced ||
        !(x.name == y.name))
      return false;
  }
  return true;
}
std::string error_of(std::string_view text, weft::schedule const& fresh) {
  try {
    weft::parse_trace(text, fresh);
  } catch (weft::parse_error const& e) {
    return e.what();
  }
  return "";
}
/// A number below `limit`, from a generator that is the same everywhere.
struct draw {
  std::uint64_t state;
  int operator()(int limit) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<int>((state >> 33) % static_cast<std::uint64_t>(limit));
  }
};
/// Up to `count` steps; most of those that are illegal are not taken.
void random_steps(weft::schedule& s, draw& random, int count) {
  for (int n = 0; n < count; ++n) {
    weft::schedule next = s;
    auto const any = [&] { return axis{random(static_cast<int>(s.loops.size()))}; };
    switch (random(8)) {
      case 0: next.unroll(any()); break;
      case 1: next.vectorize(any()); break;
      case 2: next.parallel(any()); break;
      case 3:
      case 4: {
        axis const first = any(), second = any();
        next.reorder(first, second);
        break;
      }
      default: {
        axis const whole = any();
        next.split(whole, random(6) + 1);
      }
    }
    if (next.state != verdict::illegal || random(20) == 0) s = next;
  }
}
}  // namespace

TEST_CASE("print_trace shows one step a line, by the names of the stage") {
  weft::program const p = two_stages();
  weft::schedule s(p, all_extents{64});
  auto const [jo, ji] = s.split(axis{s.order[1][1]}, 16);
  s.reorder(jo, axis{s.order[1][0]});
  s.vectorize(ji);
  s.unroll(axis{s.order[0][1]});
  s.parallel(jo);
  CHECK(print_trace(s) ==
        "D: split(j, 16) -> jo, ji\n"
        "D: reorder(jo, i)\n"
        "D: vectorize(ji)\n"
        "C: unroll(j)\n"
        "D: parallel(jo)\n");
}

TEST_CASE("parse_trace(print_trace(s)) gives back the steps, and their replay the nest") {
  weft::program const programs[] = {matmul(), two_stages()};
  int legal = 0, illegal = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    draw random{seed};
    weft::program const& p = programs[seed % 2];
    all_extents const extents{seed % 3 == 0 ? -1 : 40};
    weft::schedule s(p, extents);
    random_steps(s, random, 12);
    weft::schedule fresh(p, extents);
    weft::trace const read = weft::parse_trace(print_trace(s), fresh);
    CHECK(read == s.steps);
    CHECK(weft::hash(read) == weft::hash(s.steps));
    CHECK(fresh.steps.empty());
    CHECK(replay(fresh, s.steps) == (s.state != verdict::illegal));
    CHECK(same_nest(fresh, s));
    CHECK(fresh.state == s.state);
    CHECK(explain(s, "it").empty() == (s.state != verdict::illegal));
    ++(s.state == verdict::illegal ? illegal : legal);
  }
  CHECK(legal > 20);
  CHECK(illegal > 20);
}

TEST_CASE("a trace holds for other extents of the same program") {
  weft::program const p = matmul();
  weft::schedule in_the_compiler(p, all_extents{}), at_the_call(p, all_extents{100});
  auto const [io, ii] = in_the_compiler.split(axis{0}, 8);
  in_the_compiler.unroll(ii);
  CHECK(replay(at_the_call, in_the_compiler.steps));
  CHECK(at_the_call.at(io.id).extent == 13);
  CHECK(loop_names(at_the_call, 0) == loop_names(in_the_compiler, 0));
  weft::schedule too_big(p, all_extents{2000});
  weft::trace steps = weft::parse_trace("C: unroll(j)", in_the_compiler);
  CHECK_FALSE(replay(too_big, steps));
}

TEST_CASE("the parts of a split may be left out, spacing and comments are free") {
  weft::program const p = matmul();
  weft::schedule const fresh(p, all_extents{64});
  weft::trace const t =
      weft::parse_trace("# blocks of B\n\n  C :split( k,256 )  # a comment\nC: reorder(ko, j)", fresh);
  REQUIRE(t.size() == 2);
  CHECK(t[0].factor == 256);
  CHECK(t[1].loops[0] == 3);
  CHECK(t[1].loops[1] == 1);
}

TEST_CASE("hash tells steps apart") {
  weft::program const p = matmul();
  weft::schedule const fresh(p, all_extents{64});
  char const* const texts[] = {"",
                               "C: split(k, 4)",
                               "C: split(k, 8)",
                               "C: split(j, 4)",
                               "C: unroll(k)",
                               "C: parallel(j)",
                               "C: reorder(i, j)",
                               "C: reorder(j, i)",
                               "C: reorder(j, i, k)",
                               "C: split(k, 4)\nC: split(j, 4)",
                               "C: split(j, 4)\nC: split(k, 4)"};
  weft::sequence<std::uint64_t> seen;
  for (char const* text : texts) {
    std::uint64_t const h = weft::hash(weft::parse_trace(text, fresh));
    for (std::uint64_t other : seen) CHECK(h != other);
    seen.push_back(h);
  }
}

TEST_CASE("a line that no trace has is a parse_error with its line") {
  weft::program const p = matmul();
  weft::schedule const fresh(p, all_extents{64});
  CHECK(error_of("E: unroll(i)", fresh) == "trace:1:2: there is no such stage");
  CHECK(error_of("C: unroll(i)\nC: rotate(j)", fresh) == "trace:2:10: there is no such step");
  CHECK(error_of("C: unroll(x)", fresh) == "trace:1:12: the stage has no such axis here");
  CHECK(error_of("C: unroll(ko)\nC: split(k, 4)", fresh).substr(0, 8) == "trace:1:");
  CHECK(error_of("C: split(k, 4) -> ki, ko", fresh) == "trace:1:21: the split gives its parts other names");
  CHECK(error_of("C: unroll(i) j", fresh) == "trace:1:14: the line should end here");
  CHECK(error_of("C: split(k, 99999999999999999999)", fresh) == "trace:1:13: the number does not fit 64 bits");
  CHECK(error_of("C: split(k, 0)\nC: unroll(j)", fresh) ==
        "trace:2:1: the step before this one is illegal here: the factor must be at least 1");
  // What an illegal step would have made is passed over.
  for (auto const& [text, why] : {std::pair{"C: split(k, 0) -> ko, ki\n", weft::diagnosis::a_factor_must_be_at_least_1},
                                  {"C: fuse(i, k) -> @5", weft::diagnosis::a_reduction_axis_and_a_spatial_one_cannot_be_fused}}) {
    weft::trace const steps = weft::parse_trace(text, fresh);
    REQUIRE(steps.size() == 1);
    CHECK(steps[0].reason == why);
  }
  CHECK(error_of("C: split(k, 0) -> ko,", fresh) == "trace:1:22: expected an axis");
  CHECK(error_of("C: reorder(i,i,i,i,i,i,i,i,i,i,i,i,i,i,i,i,i)", fresh).find("at most 16") != std::string::npos);
}

TEST_CASE("a damaged trace is read or refused, never more") {
  weft::program const p = matmul();
  weft::schedule const fresh(p, all_extents{64});
  std::string const good = "C: split(k, 256) -> ko, ki\nC: reorder(ko, j, i, ki)\n?: unroll(@-1)\n";
  draw random{7};
  int refused = 0;
  for (int n = 0; n < 2000; ++n) {
    std::string text = good;
    for (int k = random(3) + 1; k > 0; --k) {
      auto const at = static_cast<std::size_t>(random(static_cast<int>(text.size())));
      if (random(2) == 0)
        text[at] = "C:(),>-@9ik\n\"\\?# \0z"[random(19)];
      else
        text.erase(at, static_cast<std::size_t>(random(6)));
    }
    try {
      weft::trace const t = weft::parse_trace(text, fresh);
      CHECK(t.size() <= 3);
    } catch (weft::parse_error const&) {
      ++refused;
    }
  }
  CHECK(refused > 1000);
}

TEST_CASE("a replay refuses steps that no schedule has taken") {
  weft::program const p = matmul();
  for (int count : {-1, 0, 17}) {
    weft::schedule s(p, all_extents{64});
    weft::step bad;
    bad.what = weft::verb::reorder;
    bad.count = count;
    CHECK_FALSE(replay(s, {bad}));
    CHECK(s.steps.empty());
  }
}

TEST_CASE("a knob takes its first value, or what was chosen for it") {
  weft::program const p = matmul();
  weft::schedule s(p, all_extents{64});
  CHECK(s.knob("kb", {256, 512}) == 256);
  CHECK(s.knob("mr", {6, 4, 2}) == 6);
  REQUIRE(s.knobs.size() == 2);
  CHECK(s.knobs[1].name.view() == "mr");
  CHECK(s.knobs[1].values == weft::sequence<std::int64_t>{6, 4, 2});
  weft::schedule t(p, all_extents{64});
  t.choices = {1, 2};
  CHECK(t.knob("kb", {256, 512}) == 512);
  CHECK(t.knob("mr", {6, 4, 2}) == 2);
  CHECK(t.knob("nr", {64, 32}) == 64);  // beyond the choices
  CHECK(t.knobs[0].chosen == 1);
}
constexpr auto asks_for_nothing = [](auto& s, auto i, auto, auto) { s.split(i, s.knob("kb", {})); };
static_assert(judge_matmul(-1, asks_for_nothing).state == verdict::illegal);

// clang counts the steps of a constant evaluation, 1,048,576 of them at most: twenty steps of a schedule take
// it less than 50,000 (clang 22, -fconstexpr-steps).
constexpr auto takes_twenty_steps = [](auto& s, auto i, auto j, auto k) {
  auto const kk = s.split(k, 256), ii = s.split(i, 6), jj = s.split(j, 64);
  s.reorder(kk[0], jj[0], ii[0], kk[1], ii[1], jj[1]);
  auto const a = s.split(kk[1], 8), b = s.split(ii[0], 8), c = s.split(jj[0], 8);
  s.reorder(kk[0], c[0], b[0], c[1], b[1], a[0], a[1], ii[1], jj[1]);
  auto const d = s.split(b[1], 2), e = s.split(c[1], 2);
  s.reorder(kk[0], c[0], b[0], e[0], d[0], e[1], d[1], a[0], a[1], ii[1], jj[1]);
  s.unroll(ii[1]);
  s.vectorize(jj[1]);
  s.unroll(a[1]);
  s.parallel(c[0]);
  s.reorder(c[0], kk[0], b[0], e[0], d[0], e[1], d[1], a[0], a[1], ii[1], jj[1]);
  s.reorder(c[0], b[0], kk[0], e[0], d[0], e[1], d[1], a[0], a[1], ii[1], jj[1]);
  s.split(kk[0], 2);
  s.split(b[0], 2);
  s.reorder(e[0], e[1]);
};
static_assert(judge_matmul(-1, takes_twenty_steps).steps == 20);
static_assert(judge_matmul(-1, takes_twenty_steps).state == verdict::legal);
