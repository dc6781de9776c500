// The identity of a reduction in a nest of its own.
#include <doctest/doctest.h>

#include "fuzz/found.hpp"
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
TEST_CASE("decompose_reduction: elements that a shifted part computes twice are not summed up twice") {
  for (char const* in_front_of : {"io", "ii", "j"}) {
    weft_test::fuzz::found f;
    auto const A = f.input<float, 2>({13, 6});
    f.check(compute<"S">(A.extent(0), [=](auto i) { return sum(A.extent(1), [=](auto k) { return A(i, k); }); }),
            "S: split(i, 5, shift_inwards) -> io, ii\nS: decompose_reduction(S, " + std::string(in_front_of) + ")\n", 4);
  }
}
TEST_CASE("decompose_reduction: in any tail, in a fused loop, in a ring and in a layout") {
  for (char const* steps :
       {"S: split(i, 4, mask) -> io, ii\nS: vectorize(ii)\nS: decompose_reduction(S, io)\n",
        "S: split(i, 4, partition) -> io, ii\nS: vectorize(ii)\nS: decompose_reduction(S, io)\n",
        "S: split(i, 4, partition) -> io, ii\nS: unroll(ii)\nS: decompose_reduction(S, ii)\n",
        "S: split(i, 4, round_up) -> io, ii\nS: vectorize(ii)\nS: decompose_reduction(S, io)\n",
        "S: split(i, 4) -> io, ii\nS: fuse(io, ii) -> ioii\nS: decompose_reduction(S, ioii)\n",
        "S: compute_at(T, i)\nS: store_root()\nS: fold_storage(i, 4)\nS: decompose_reduction(S, i)\n",
        "S: compute_at(T, i)\nS: store_root()\nS: split(j, 4) -> jo, ji\nS: decompose_reduction(S, jo)\n",
        "S: transform_layout(0, 4, 0, 0, 1, 4, 0)\nS: vectorize(j)\nS: decompose_reduction(S, i)\n"}) {
    weft_test::fuzz::found f;
    auto const A = f.input<float, 2>({14, 6});
    auto const S = compute<"S">(A.extent(0), [=](auto i) { return sum(A.extent(1), [=](auto k) { return A(i, k); }); });
    f.check(compute<"T">(A.extent(0) - 2, [=](auto i) { return S(i) + S(i + 2); }), steps, 4);
  }
}
TEST_CASE("decompose_reduction: of no terms at all, one store is left") {
  lowered_program l{weft_test::matmul(), {{3, 0}, {0, 16}}};
  std::string const text = weft_test::body(l([](schedule& s, auto const&) { blocked(s); }));
  CHECK(text.find("C[") == text.rfind("C["));
}
