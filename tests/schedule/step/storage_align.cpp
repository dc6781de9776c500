#include "../programs.hpp"

#include <doctest/doctest.h>

#include "weft/schedule/print.hpp"

using namespace weft_test;
using weft::diagnosis;
using weft::verdict;

namespace {
constexpr weft::input_handle<2> B{1};
struct scheduled {
  weft::program p = matmul();
  weft::schedule s{p, all_extents{16}};
  weft::stage_handle<3, 2> C = weft::handle_of<3, 2>(s, 0);
  diagnosis why() const { return s.failed < 0 ? s.fault : s.steps[static_cast<std::size_t>(s.failed)].reason; }
};
}  // namespace

TEST_CASE("storage_align: a factor and an offset for each dimension, the last one holds") {
  scheduled t;
  auto const copy = t.s.cache_read(B, t.C);
  t.s.storage_align(copy, 0, 16, 8);
  t.s.storage_align(copy, 0, 32);
  CHECK(t.s.state == verdict::legal);
  CHECK(t.s.wish(copy.stage, 0)->factor == 32);
  CHECK(t.s.wish(copy.stage, 0)->offset == 0);
  CHECK(t.s.wish(copy.stage, 1) == nullptr);
  CHECK(weft::print_trace(t.s) == R"(C: cache_read(B)
B_copy: storage_align(0, 16, 8)
B_copy: storage_align(0, 32, 0)
)");
  CHECK(weft::parse_trace(weft::print_trace(t.s), weft::schedule(t.p, all_extents{16})) == t.s.steps);
}
TEST_CASE("storage_align: what it refuses") {
  auto const stride = diagnosis::a_stride_has_a_dimension_of_the_stage_a_factor_from_1_to_4096_and_an_offset_below_it;
  struct {
    void (*steps)(scheduled&, weft::stage_handle<2>);
    diagnosis why;
  } const cases[] = {
      {[](scheduled& t, weft::stage_handle<2> c) { t.s.storage_align(c, 2, 16); }, stride},
      {[](scheduled& t, weft::stage_handle<2> c) { t.s.storage_align(c, -1, 16); }, stride},
      {[](scheduled& t, weft::stage_handle<2> c) { t.s.storage_align(c, 0, 0); }, stride},
      {[](scheduled& t, weft::stage_handle<2> c) { t.s.storage_align(c, 0, 4097); }, stride},
      {[](scheduled& t, weft::stage_handle<2> c) { t.s.storage_align(c, 0, 16, 16); }, stride},
      {[](scheduled& t, weft::stage_handle<2> c) { t.s.storage_align(c, 0, 16, -1); }, stride},
      {[](scheduled& t, weft::stage_handle<2>) { t.s.storage_align(t.C, 0, 16); },
       diagnosis::the_memory_of_an_output_is_the_callers__cache_write_it},
      {[](scheduled& t, weft::stage_handle<2>) {
         t.s.storage_align(weft::stage_handle<2>{7, {}}, 0, 16);
       },
       diagnosis::the_stage_is_none_of_this_schedule},
      {[](scheduled& t, weft::stage_handle<2> c) { t.s.compute_inline(c), t.s.storage_align(c, 0, 16); },
       diagnosis::an_inlined_stage_has_no_memory},
  };
  for (auto const& c : cases) {
    scheduled t;
    c.steps(t, t.s.cache_read(B, t.C));
    CHECK(t.why() == c.why);
    CHECK(explain(t.s, "k").find("  try   ") != std::string::npos);
    if (c.why != diagnosis::the_stage_is_none_of_this_schedule)
      CHECK(weft::parse_trace(weft::print_trace(t.s), weft::schedule(t.p, all_extents{16})) == t.s.steps);
  }
}

TEST_CASE("swizzle: of a stage's rows, with whatever stride they have; the last word is the lowering's") {
  scheduled t;
  auto const copy = t.s.cache_read(B, t.C);
  t.s.swizzle(copy);
  t.s.storage_align(copy, 0, 16, 8);
  CHECK(t.s.state == verdict::deferred);
  CHECK(t.s.wish(copy.stage, weft::memory_wish::swizzled) != nullptr);
  CHECK(t.s.wish(copy.stage, 0)->factor == 16);
  CHECK(t.s.wish(copy.stage, -1) == nullptr);
  CHECK(weft::print_trace(t.s) == "C: cache_read(B)\nB_copy: swizzle()\nB_copy: storage_align(0, 16, 8)\n");
  CHECK(weft::parse_trace(weft::print_trace(t.s), weft::schedule(t.p, all_extents{16})) == t.s.steps);
  CHECK(weft::print_loops(t.s).find("rows swizzled") != std::string::npos);
}
TEST_CASE("swizzle: what it refuses") {
  struct {
    void (*steps)(scheduled&, weft::stage_handle<2>);
    diagnosis why;
  } const cases[] = {
      {[](scheduled& t, weft::stage_handle<2>) { t.s.swizzle(t.C); }, diagnosis::the_memory_of_an_output_is_the_callers__cache_write_it},
      {[](scheduled& t, weft::stage_handle<2>) { t.s.swizzle(weft::stage_handle<2>{7, {}}); }, diagnosis::the_stage_is_none_of_this_schedule},
      {[](scheduled& t, weft::stage_handle<2> c) { t.s.compute_inline(c), t.s.swizzle(c); }, diagnosis::an_inlined_stage_has_no_memory},
  };
  for (auto const& c : cases) {
    scheduled t;
    c.steps(t, t.s.cache_read(B, t.C));
    CHECK(t.why() == c.why);
    CHECK(explain(t.s, "k").find("  try   ") != std::string::npos);
  }
}
