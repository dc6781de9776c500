#include "weft/pass/stack_tiles.hpp"

#include <doctest/doctest.h>

#include "lower/programs.hpp"
#include "pass/text.hpp"
#include "support/golden.hpp"
#include "weft/pass/pipeline.hpp"

using namespace weft;
using weft_test::lowered_program;

namespace {
/// A tile of 2 x 16 that is summed on the stack and copied to C.
ir::function tile(lowered_program& l, int factor) {
  ir::function f = l([&](schedule& s, auto const&) {
    auto const C = handle_of<3, 2>(s, 0);
    auto const acc = s.cache_write(C);
    auto const [io, ii] = s.split(C.all[0], 2);
    auto const [jo, ji] = s.split(C.all[1], 16);
    s.reorder(io, jo, ii, ji);
    s.compute_at(acc, jo);
    s.reorder(acc.all[2], acc.all[0], acc.all[1]);
    s.unroll(acc.all[0]);
    s.vectorize(acc.all[1]);
    s.unroll(ii);
    if (factor == 0)
      s.vectorize(ji);
    else
      s.vectorize(s.split(ji, factor)[1]);
  });
  run_passes(f, {32, false});
  CHECK(ir::verify(f) == "");
  return f;
}
bool reads(ir::function const& f, char const* what) { return weft_test::body(f).find(what) != std::string::npos; }
}  // namespace

TEST_CASE("a tile on the stack, all of whose loops are written out, is in registers") {
  lowered_program l{weft_test::matmul(), {{4, 8}, {8, 32}}};
  ir::function const f = tile(l, 0);
  CHECK(!reads(f, "C_acc["));
  weft_test::check_golden("pass/stack_tile.ir", ir::print(f));
}
TEST_CASE("so is one that does not divide, by masks or by a branch for the last one") {
  for (vector_tails tails : {vector_tails::mask, vector_tails::partition}) {
    lowered_program l{weft_test::matmul(), {{5, 8}, {8, 27}}};
    l.tails = tails;
    CHECK(!reads(tile(l, 0), "C_acc["));
  }
}
TEST_CASE("memory that is read in other pieces than it was written in stays on the stack, and what a loop moves over") {
  lowered_program l{weft_test::matmul(), {{4, 8}, {8, 32}}};
  CHECK(reads(tile(l, 4), "C_acc["));
  ir::function f = l([&](schedule& s, auto const&) {
    auto const C = handle_of<3, 2>(s, 0);
    s.compute_at(s.cache_write(C), C.all[0]);
  });
  run_passes(f, {32, false});
  CHECK(reads(f, "C_acc["));
}
// Of what other threads would read nothing was left but that they ask for it: its element was known.
TEST_CASE("nothing that is in registers is asked for ahead, in a parallel loop neither") {
  for (char const* how : {"", " parallel"}) {
    weft_test::from_text t(std::string("  buffer S: f32[1] strides [1] in stack written alias 1000000 align 64\n  allocate S:\n    S[0] = A[0]\n    for i in 0..4") + how +
                           " prefetch S 2 into once prefetch A 3:\n      B[i] = A[i]\n");
    std::string const after = t.after([](ir::function& f) { return stack_tiles(f, f.body); });
    CHECK(after.find("S[") == std::string::npos);
    CHECK(after.find("prefetch S") == std::string::npos);
    CHECK(after.find("prefetch A 3") != std::string::npos);
  }
}
