#include "weft/schedule/print.hpp"

#include <doctest/doctest.h>

#include "programs.hpp"

using namespace weft_test;
using weft::axis;

namespace {
void tile_matmul(weft::schedule& s) {
  auto const [ko, ki] = s.split(axis{2}, 256);
  auto const [io, ii] = s.split(axis{0}, 6);
  auto const [jo, ji] = s.split(axis{1}, 64);
  s.reorder(ko, jo, io, ki, ii, ji);
  s.unroll(ii);
  s.vectorize(ji);
  s.parallel(jo);
}
}  // namespace

TEST_CASE("print_loops shows each loop's kind and trips, the update, and what the axes are") {
  weft::program const p = matmul();
  weft::schedule s(p, all_extents{1024});
  tile_matmul(s);
  CHECK(print_loops(s) ==
        "C\n"
        "  for ko in 0..4\n"
        "    parallel jo in 0..16\n"
        "      for io in 0..171\n"
        "        for ki in 0..256\n"
        "          unrolled ii in 0..6\n"
        "            vectorized ji in 0..64\n"
        "              C[i, j] += A[i, k] * B[k, j]\n"
        "  where i = io*6 + ii, j = jo*64 + ji, k = ko*256 + ki\n");
}

TEST_CASE("print_loops shows extents that are not known as the program has them") {
  weft::program const p = matmul();
  weft::schedule s(p, all_extents{});
  auto const [io, ii] = s.split(axis{0}, 6);
  s.split(io, 4);
  s.split(ii, 2);
  CHECK(print_loops(s) ==
        "C\n"
        "  for ioo in 0..ceil(ceil(A.extent(0)/6)/4)\n"
        "    for ioi in 0..4\n"
        "      for iio in 0..3\n"
        "        for iii in 0..2\n"
        "          for j in 0..B.extent(1)\n"
        "            for k in 0..A.extent(1)\n"
        "              C[i, j] += A[i, k] * B[k, j]\n"
        "  where i = (ioo*4 + ioi)*6 + iio*2 + iii\n");
}

TEST_CASE("print_loops shows every stage, a maximum as max=, and a plain stage as an assignment") {
  weft::program const p = two_stages();
  weft::schedule const s(p, all_extents{7});
  CHECK(print_loops(s) ==
        "C\n"
        "  for i in 0..7\n"
        "    for j in 0..7\n"
        "      C[i] max= A[i, j]\n"
        "D\n"
        "  for i in 0..7\n"
        "    for j in 0..7\n"
        "      D[i, j] = A[i, j] - C[i]\n");
}

TEST_CASE("explain names the step, shows the nest before it, marks the loop and offers a way out") {
  weft::program const p = matmul();
  weft::schedule s(p, all_extents{512});
  auto const [ko, ki] = s.split(axis{2}, 8);
  CHECK(explain(s, "matmul") == "");
  s.parallel(axis{1});
  s.parallel(ki);
  s.vectorize(axis{0});  // passed over
  CHECK(explain(s, "matmul") ==
        "parallel: a reduction axis cannot run in parallel: its iterations add to the same element; run a spatial "
        "axis in parallel, or use rfactor\n"
        "  in    schedule of matmul, step 3: C: parallel(ki)\n"
        "  nest  i(512) > parallel j(512) > ko(64) > ki(8)\n"
        "                                            ^^\n"
        "  try   i");
  CHECK(ko.id >= 0);
}

TEST_CASE("explain: an axis that was split has no place in the nest; its parts are the way out") {
  weft::program const p = matmul();
  weft::schedule s(p, all_extents{512});
  auto const [ko, ki] = s.split(axis{2}, 8);
  s.split(ki, 2);
  s.split(axis{2}, 4);
  CHECK(explain(s, "matmul") ==
        "split: the axis was split already; use the two axes that the split returned\n"
        "  in    schedule of matmul, step 3: C: split(k, 4)\n"
        "  nest  i(512) > j(512) > ko(64) > kio(4) > kii(2)\n"
        "  try   one of ko, kio, kii");
  CHECK(ko.id >= 0);
}

TEST_CASE("explain has a text for a poisoned axis and for a knob without values") {
  weft::program const p = two_stages();
  weft::schedule s(p, all_extents{8});
  s.unroll(axis{});
  CHECK(explain(s, "rows") ==
        "unroll: no such axis in this schedule\n"
        "  in    schedule of rows, step 1: unroll(@-1)\n"
        "  try   an axis of a stage of this schedule, as C.axes() returns them");
  weft::schedule t(p, all_extents{8});
  t.knob("kb", {});
  CHECK(explain(t, "rows").find("a knob needs at least one value") != std::string::npos);
}

TEST_CASE("explain has a way out for every illegal step, and it names only loops that are there") {
  using how = void (*)(weft::schedule&, axis, axis, axis);
  struct {
    how steps;
    char const* way_out;
  } const cases[] = {
      {[](weft::schedule& s, axis i, axis, axis) { s.split(i, 0); }, "split(i, 8), or any other factor from 1 on"},
      {[](weft::schedule& s, axis i, axis j, axis) { s.reorder(j, i, j); }, "naming each axis once: i, j, k"},
      {[](weft::schedule& s, axis i, axis, axis) { s.parallel(i), s.split(i, 4); },
       "split of i before it is marked, or one of j, k"},
      {[](weft::schedule& s, axis, axis, axis k) { s.vectorize(k); }, "one of i, j"},
      {[](weft::schedule& s, axis i, axis j, axis) { s.parallel(i), s.parallel(j); },
       "leaving this step out, or the one before it"},
      {[](weft::schedule& s, axis i, axis j, axis) { s.unroll(s.split(i, 4)[1]), s.parallel(j); },
       "an order in which the parallel axis stands outside of them"},
      {[](weft::schedule& s, axis, axis j, axis) { s.vectorize(s.split(j, 64)[0]); }, "vectorize(ji)"},
      {[](weft::schedule& s, axis i, axis, axis) { s.unroll(i); }, "split(i, 8), then unroll of its inner part"},
      {[](weft::schedule& s, axis, axis j, axis) { s.vectorize(j); }, "split(j, 8), then vectorize of its inner part"},
  };
  weft::program const p = matmul();
  for (auto const& c : cases) {
    weft::schedule s(p, all_extents{2048});
    c.steps(s, axis{0}, axis{1}, axis{2});
    std::string const text = explain(s, "matmul");
    std::string const tail = std::string("\n  try   ") + c.way_out;
    CAPTURE(text);
    CHECK(text.size() > tail.size());
    CHECK(text.substr(text.size() - tail.size()) == tail);
  }
}
