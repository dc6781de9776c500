#include "../programs.hpp"

#include <doctest/doctest.h>

#include "weft/schedule/print.hpp"
#include "weft/print_how.hpp"
#include "weft/weft.hpp"

using namespace weft_test;
using weft::diagnosis;
using weft::scope;
using weft::verdict;

namespace {
constexpr weft::input_handle<2> B{1};
struct scheduled {
  weft::program p = matmul();
  weft::schedule s;
  weft::stage_handle<3, 2> C;
  explicit scheduled(std::int64_t extent) : s(p, all_extents{extent}), C(weft::handle_of<3, 2>(s, 0)) {}
  diagnosis why() const { return s.failed < 0 ? s.fault : s.steps[static_cast<std::size_t>(s.failed)].reason; }
};
constexpr auto large = diagnosis::memory_on_the_stack_has_at_most_64_KiB__compute_the_stage_inside_a_loop;
constexpr auto not_a_blocks = diagnosis::shared_memory_is_one_blocks_own__compute_the_stage_inside_of_a_loop_over_blocks;
}  // namespace

TEST_CASE("set_scope: what is computed inside of blocks may be theirs, and is again when another step says so") {
  scheduled t(2000);
  auto const copy = t.s.cache_read(B, t.C);
  t.s.bind(t.C.all[0], weft::thread_axis::block_x);
  t.s.compute_at(copy, t.C.all[1]);
  t.s.set_scope(copy, scope::shared);
  CHECK(t.s.steps.back().ruling == verdict::deferred);  // loops tell how much it is
  t.s.set_scope(copy, scope::workspace);
  t.s.compute_root(copy);  // which the workspace may be
  CHECK(t.s.state == verdict::deferred);
  CHECK(weft::parse_trace(weft::print_trace(t.s), weft::schedule(t.p, all_extents{2000})) == t.s.steps);
}
TEST_CASE("set_scope: a whole stage may be on the stack while it is small") {
  struct {
    std::int64_t extent;
    verdict v;
  } const cases[] = {{128, verdict::legal}, {129, verdict::illegal}, {std::int64_t(1) << 40, verdict::illegal},
                     {0, verdict::legal},   {-1, verdict::deferred}, {weft::open_trips, verdict::illegal}};
  for (auto const& c : cases) {
    scheduled t(c.extent);
    t.s.set_scope(t.s.cache_read(B, t.C), scope::stack);
    CHECK(t.s.steps.back().ruling == c.v);
    if (c.v == verdict::illegal) CHECK(t.why() == large);
  }
}
TEST_CASE("set_scope: of a part that is read in a loop, lowering decides; the workspace takes any") {
  scheduled t(2000);
  auto const copy = t.s.cache_read(B, t.C);
  t.s.compute_at(copy, t.C.all[1]);
  t.s.set_scope(copy, scope::stack);
  CHECK(t.s.steps.back().ruling == verdict::deferred);
  t.s.set_scope(copy, scope::workspace);
  CHECK(t.s.steps.back().ruling == verdict::legal);
  CHECK(t.s.wish(copy.stage, -1)->where == scope::workspace);  // the last one holds
  CHECK(weft::print_trace(t.s) == R"(C: cache_read(B)
B_copy: compute_at(C, j)
B_copy: set_scope(stack)
B_copy: set_scope(workspace)
)");
  CHECK(weft::parse_trace(weft::print_trace(t.s), weft::schedule(t.p, all_extents{2000})) == t.s.steps);
}
TEST_CASE("set_scope: a word that is none is a parse_error with its line") {
  scheduled t(16);
  for (char const* text :
       {"C: cache_read(B)\nB_copy: set_scope(cellar)\n", "C: cache_read(B)\nB_copy: set_scope()\n"}) {
    std::string said;
    try {
      weft::parse_trace(text, t.s);
    } catch (weft::parse_error const& e) {
      said = e.what();
    }
    INFO(said);
    CHECK(said.find("trace:2:") == 0);
  }
}
TEST_CASE("set_scope: what it refuses") {
  struct {
    void (*steps)(scheduled&);
    diagnosis why;
  } const cases[] = {
      {[](scheduled& t) { t.s.set_scope(t.C, scope::stack); },
       diagnosis::the_memory_of_an_output_is_the_callers__cache_write_it},
      {[](scheduled& t) { t.s.set_scope(t.C, scope::workspace); },
       diagnosis::the_memory_of_an_output_is_the_callers__cache_write_it},
      {[](scheduled& t) {
         t.s.set_scope(weft::stage_handle<2>{7, {}}, scope::stack);
       },
       diagnosis::the_stage_is_none_of_this_schedule},
      {[](scheduled& t) {
         auto const copy = t.s.cache_read(B, t.C);
         t.s.compute_inline(copy);
         t.s.set_scope(copy, scope::stack);
       },
       diagnosis::an_inlined_stage_has_no_memory},
      {[](scheduled& t) {  // what is wanted of its memory is wanted of these dimensions
         auto const copy = t.s.cache_read(B, t.C);
         t.s.set_scope(copy, scope::stack);
         static_cast<void>(t.s.transform_layout(copy, [](auto k, auto j) { return weft::dims(j, k); }));
       },
       diagnosis::the_stage_was_scheduled_already__this_step_comes_before_all_others_on_it},
      {[](scheduled& t) {  // in front of the blocks, which would all read it
         t.s.bind(t.C.all[0], weft::thread_axis::block_x);
         t.s.set_scope(t.s.cache_read(B, t.C), scope::shared);
       },
       not_a_blocks},
      {[](scheduled& t) {  // there are no blocks
         auto const copy = t.s.cache_read(B, t.C);
         t.s.compute_at(copy, t.C.all[0]);
         t.s.set_scope(copy, scope::shared);
       },
       not_a_blocks},
      {[](scheduled& t) {  // a block each: inside of the axis, but not of the one that is bound
         auto const copy = t.s.cache_read(B, t.C);
         t.s.bind(t.C.all[1], weft::thread_axis::block_x);
         t.s.compute_at(copy, t.C.all[0]);
         t.s.set_scope(copy, scope::shared);
       },
       not_a_blocks},
      {[](scheduled& t) {  // what was a block's and is not any more
         auto const copy = t.s.cache_read(B, t.C);
         t.s.bind(t.C.all[0], weft::thread_axis::block_x);
         t.s.compute_at(copy, t.C.all[0]);
         t.s.set_scope(copy, scope::shared);
         t.s.compute_root(copy);
       },
       not_a_blocks},
  };
  for (auto const& c : cases) {
    scheduled t(16);
    c.steps(t);
    CHECK(t.why() == c.why);
    CHECK(explain(t.s, "k").find("  try   ") != std::string::npos);
    if (c.why != diagnosis::the_stage_is_none_of_this_schedule)
      CHECK(weft::parse_trace(weft::print_trace(t.s), weft::schedule(t.p, all_extents{16})) == t.s.steps);
  }
}

namespace {
constexpr auto squares = [](auto A) {
  auto n = A.extent(0);
  auto row = weft::compute<"row">(n, 8, [=](auto i, auto j) { return A(i, j) + A(i, j + 1); });
  return weft::compute<"out">(n, 8, [=](auto i, auto j) { return row(i, j) * row(i, j); });
};
}  // namespace
TEST_CASE("set_scope: who asks for registers is told when the loops leave memory in place") {
  constexpr auto in_registers = weft::kernel<"squares">(squares, [](auto& s, auto, auto row, auto out) {
    auto [i, j] = out.axes();
    auto [ri, rj] = row.axes();
    s.compute_at(row, i);
    s.vectorize(rj);
    s.vectorize(j);
    s.set_scope(row, scope::registers);
  });
  constexpr auto indexed = weft::kernel<"squares">(squares, [](auto& s, auto, auto row, auto out) {
    auto [i, j] = out.axes();
    auto [ri, rj] = row.axes();
    s.compute_at(row, i);
    s.vectorize(rj);
    s.set_scope(row, scope::registers);
  });
  float a[5 * 9], wanted[5 * 8], c[5 * 8];
  for (int i = 0; i < 45; ++i) a[i] = static_cast<float>(i * i % 17);
  for (int i = 0; i < 40; ++i) wanted[i] = (a[i / 8 * 9 + i % 8] + a[i / 8 * 9 + i % 8 + 1]) * (a[i / 8 * 9 + i % 8] + a[i / 8 * 9 + i % 8 + 1]);
  auto const A = weft::view(a, 5, 9);
  in_registers(A, weft::out(c, 5, 8));
  for (int i = 0; i < 40; ++i) CHECK(c[i] == wanted[i]);
  CHECK(in_registers.ir(A).find("in registers") != std::string::npos);
  CHECK(in_registers.trace(A).find("row: set_scope(registers)\n") != std::string::npos);
  CHECK(weft::print_how(in_registers, A).find("s.set_scope(row, weft::scope::registers);\n") != std::string::npos);
  std::string said;
  try {
    indexed(A, weft::out(c, 5, 8));
  } catch (weft::schedule_error const& e) {
    said = e.what();
  }
  CHECK(said ==
        "set_scope: memory that is to be registers has accesses whose element is not known when the loops are unrolled\n"
        "  in    schedule of squares, row\n"
        "  try   unroll or vectorize the loops that their indices use; or scope::stack");
}
